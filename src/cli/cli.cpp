#include "sparsebit/cli/cli.h"

#include "cli/commands.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/log.h"

#include <c10/util/Exception.h>

namespace sparsebit::cli {
namespace {

constexpr int kSuccess = 0, kFailure = 1, kBadUsage = 2;

int parse_and_run(CLI::App& app, int argc, const char* const* argv, std::ostream& out,
                  std::ostream& err) {
  try {
    app.parse(argc, argv);
    return kSuccess;
  } catch (const CLI::ParseError& e) {
    return app.exit(e, out, err) == 0 ? kSuccess : kBadUsage;
  } catch (const c10::Error& e) {  // from libtorch itself
    err << "error: " << e.what_without_backtrace() << '\n';
  } catch (const std::exception& e) {
    err << "error: " << e.what() << '\n';
  }
  return kFailure;
}

}  // namespace

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app{"Quantize, prune and deploy neural networks.", "sparsebit"};
  app.set_version_flag("--version", "sparsebit " SPARSEBIT_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Example:\n  sparsebit inspect zoo:resnet18\n\n'sparsebit COMMAND --help' tells more.");
  add_inspect_command(app, out);
  set_log_sink([&err](LogLevel level, std::string_view text) {
    err << (level == LogLevel::Warning ? "warning: " : "") << text << '\n';
  });
  const int code = parse_and_run(app, argc, argv, out, err);
  set_log_sink({});
  out.flush();
  if (code == kSuccess && !out) {
    err << "error: the output could not be written\n";
    return kFailure;
  }
  return code;
}

}  // namespace sparsebit::cli
