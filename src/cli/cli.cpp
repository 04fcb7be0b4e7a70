#include "sparsebit/cli/cli.h"

#include "cli/commands.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/log.h"

namespace sparsebit::cli {
namespace {

constexpr int kSuccess = 0, kFailure = 1, kBadUsage = 2;

/// Sends log messages to the command's error stream while it is alive.
class LogToStream {
 public:
  explicit LogToStream(std::ostream& err) {
    set_log_sink([&err](LogLevel level, std::string_view text) {
      err << (level == LogLevel::Warning ? "warning: " : "") << text << '\n';
    });
  }
  ~LogToStream() { set_log_sink({}); }
  LogToStream(const LogToStream&) = delete;
  LogToStream& operator=(const LogToStream&) = delete;
};

int parse_and_run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app{"Quantize, prune and deploy neural networks.", "sparsebit"};
  app.set_version_flag("--version", "sparsebit " SPARSEBIT_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Example:\n  sparsebit inspect zoo:resnet18\n\n'sparsebit COMMAND --help' tells more.");
  add_inspect_command(app, out);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e, out, err) == 0 ? kSuccess : kBadUsage;
  }
  out.flush();
  SPARSEBIT_CHECK(out, Io, "the output could not be written");
  return kSuccess;
}

}  // namespace

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  const LogToStream log(err);
  try {
    return parse_and_run(argc, argv, out, err);
  } catch (const std::exception& e) {
    err << "error: " << message_of(e) << '\n';
  } catch (...) {
    err << "error: an unknown exception\n";
  }
  return kFailure;
}

}  // namespace sparsebit::cli
