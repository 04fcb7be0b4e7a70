#include "sparsebit/cli/cli.h"

#include "cli/commands.h"
#include "cli/easy_names.h"
#include "easy/error_text.h"
#include "easy/usage_error.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/near_match.h"

#include <c10/util/Exception.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <span>
#include <sstream>

namespace sparsebit::cli {
namespace {

constexpr int kSuccess = 0, kFailure = 1, kBadUsage = 2;
constexpr const char *kPurpose = "Quantize, prune and deploy neural networks.",
                     *kProgram = "sparsebit";

using Arguments = std::span<const char* const>;

/// Sends log messages to the command's error stream while it is alive.
class LogToStream {
 public:
  LogToStream(std::ostream& err, Arguments arguments) {
    set_log_sink([&err, arguments](LogLevel level, std::string_view text) {
      err << (level == LogLevel::Warning ? "warning: " : "")
          << on_one_line(std::string(text), arguments) << '\n';
    });
  }
  ~LogToStream() { set_log_sink({}); }
  LogToStream(const LogToStream&) = delete;
  LogToStream& operator=(const LogToStream&) = delete;
};

/// libtorch's own warnings, such as deprecations, do not concern users: logged as debug messages.
struct TorchWarningsToLog : c10::WarningHandler {
  void process(const c10::SourceLocation& /*where*/, const std::string& text,
               bool /*verbatim*/) override {
    log_debug("libtorch: {}", text);
  }
};

std::vector<std::string> names_of_commands(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// Reports an unknown command with suggestions; CLI11 only says that a subcommand is required.
bool is_unknown_command(CLI::App& app, const std::string& word, std::ostream& err) {
  const std::vector<std::string> known = names_of_commands(app);
  const bool is_known = std::find(known.begin(), known.end(), word) != known.end();
  if (word.starts_with("-") || is_known) return false;
  err << "error: unknown command '" << on_one_line(word, std::vector<const char*>{word.c_str()})
      << "'" << did_you_mean(word, known) << "\nRun 'sparsebit --help' for the commands.\n";
  return true;
}

void check_written(std::ostream& out) {
  out.flush();
  SPARSEBIT_CHECK(out, Io, "the output could not be written");
}

void declare_commands(CLI::App& app, std::ostream& out) {
  app.set_version_flag("--version", "sparsebit " SPARSEBIT_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return std::string("error: ") + e.what() + "\nRun with --help for more information.\n";
  });
  app.footer(
      "Examples:\n  sparsebit inspect zoo:resnet18\n  sparsebit run model.onnx --input x=in.npy\n"
      "  sparsebit convert model.pt -o model.onnx --shape x=1x3x224x224\n"
      "  sparsebit quantize model.onnx --data images/ --preprocess imagenet -o model.int8.onnx\n\n"
      "Run 'sparsebit COMMAND --help' for the options of a command.");
  add_inspect_command(app, out);
  add_run_command(app, out);
  add_convert_command(app, out);
  add_data_command(app, out);
  add_config_command(app, out);
  add_quantize_command(app, out);
  add_certify_command(app, out);
  add_analyze_command(app, out);
  add_eval_command(app, out);
  add_deploy_command(app, out);
  add_platforms_command(app, out);
}

int parse_and_run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app{kPurpose, kProgram};
  declare_commands(app, out);
  if (argc > 1 && is_unknown_command(app, argv[1], err)) return kBadUsage;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream text;
    const bool good = app.exit(e, out, text) == 0;
    check_written(out);
    err << on_one_line(text.str(), {argv, static_cast<size_t>(argc)});
    return good ? kSuccess : kBadUsage;
  }
  check_written(out);
  return kSuccess;
}

}  // namespace

std::vector<std::string> command_names() {
  CLI::App app{kPurpose, kProgram};
  declare_commands(app, std::cout);
  return names_of_commands(app);
}

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  const Arguments arguments(argv, static_cast<size_t>(argc));
  const LogToStream log(err, arguments);
  TorchWarningsToLog torch_warnings;
  const c10::Warning::WarningHandlerGuard guard(&torch_warnings);
  try {
    return parse_and_run(argc, argv, out, err);
  } catch (const UsageError& e) {
    err << "error: " << on_one_line(e.what(), arguments) << '\n';
    return kBadUsage;
  } catch (const std::exception& e) {
    err << "error: " << on_one_line(error_text(e), arguments) << '\n';
  } catch (...) {
    err << "error: an unknown exception\n";
  }
  return kFailure;
}

}  // namespace sparsebit::cli
