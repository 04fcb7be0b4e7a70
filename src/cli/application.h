#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// The command with all its subcommands and options, which write to `out`.
std::unique_ptr<CLI::App> make_application(std::ostream& out);

std::vector<std::string> names_of_commands(const CLI::App& app);

}  // namespace sparsebit::cli
