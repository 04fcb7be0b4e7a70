#pragma once

#include <ostream>

namespace CLI {
class App;
}

namespace sparsebit::cli {

// One function per subcommand, each in its own file. It declares the options and a callback that
// runs the command and writes its results to `out`.
void add_inspect_command(CLI::App& app, std::ostream& out);
void add_run_command(CLI::App& app, std::ostream& out);
void add_convert_command(CLI::App& app, std::ostream& out);
void add_data_command(CLI::App& app, std::ostream& out);
void add_config_command(CLI::App& app, std::ostream& out);
void add_quantize_command(CLI::App& app, std::ostream& out);
void add_certify_command(CLI::App& app, std::ostream& out);
void add_analyze_command(CLI::App& app, std::ostream& out);
void add_deploy_command(CLI::App& app, std::ostream& out);
void add_platforms_command(CLI::App& app, std::ostream& out);
void add_eval_command(CLI::App& app, std::ostream& out);

}  // namespace sparsebit::cli
