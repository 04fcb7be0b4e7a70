#include "sparsebit/cli/cli.h"

#include "cli/application.h"
#include "cli/easy_names.h"
#include "cli/parse_error.h"
#include "cli/terminal_output.h"
#include "easy/error_text.h"
#include "easy/usage_error.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/core/printable_text.h"

#include <c10/util/Exception.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <string_view>

namespace sparsebit::cli {
namespace {

constexpr int kSuccess = 0, kFailure = 1, kBadUsage = 2;

/// Sends log messages to the command's error stream while it is alive.
class LogToStream {
 public:
  explicit LogToStream(std::ostream& err) {
    set_log_sink([&err](LogLevel level, std::string_view text) {
      if (level == LogLevel::Warning) {
        write_warning(err, text);
      } else {
        err << printable(text, kMostOfMessage) << '\n';
      }
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

/// `help` is `--help`, and `help COMMAND` is `COMMAND --help`.
std::vector<std::string> without_help_word(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  if (!arguments.empty() && arguments.front() == "help") arguments.clear();
  arguments.emplace_back("--help");
  return arguments;
}

/// Reports an unknown command with suggestions; CLI11 only says that a subcommand is required.
bool is_unknown_command(const CLI::App& app, const std::string& word, std::ostream& err) {
  std::vector<std::string> known = names_of_commands(app);
  const bool is_known = std::find(known.begin(), known.end(), word) != known.end();
  if (word.starts_with("-") || is_known) return false;
  known.emplace_back("help");
  write_error(err, "unknown command '" + printable(word, kMostOfMessage) + "'" +
                       did_you_mean(word, known) + "\nRun 'sparsebit --help' for the commands.");
  return true;
}

void check_written(std::ostream& out) {
  out.flush();
  SPARSEBIT_CHECK(out, Io, "the output could not be written");
}

int parse_and_run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  const auto app = make_application(out);
  std::vector<std::string> arguments = without_help_word({argv + std::min(argc, 1), argv + argc});
  if (!arguments.empty() && is_unknown_command(*app, arguments.front(), err)) return kBadUsage;
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app->parse(std::move(arguments));
  } catch (const CLI::ParseError& e) {
    const bool is_answer = e.get_exit_code() == 0;  // --help, --version
    if (is_answer) {
      app->exit(e, out, err);
    } else {
      write_error(err, parse_error_text(*app, e) + "\nRun with --help for more information.");
    }
    check_written(out);
    return is_answer ? kSuccess : kBadUsage;
  }
  check_written(out);
  return kSuccess;
}

}  // namespace

std::vector<std::string> command_names() { return names_of_commands(*make_application(std::cout)); }

int run(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  const LogToStream log(err);
  TorchWarningsToLog torch_warnings;
  const c10::Warning::WarningHandlerGuard guard(&torch_warnings);
  PrintableStream printable_out(out);
  try {
    return parse_and_run(argc, argv, printable_out, err);
  } catch (const UsageError& e) {
    write_error(err, error_text(e));
    return kBadUsage;
  } catch (const std::exception& e) {
    printable_out.flush();
    write_error(err, error_text(e));
  } catch (...) {
    write_error(err, "an unknown exception");
  }
  return kFailure;
}

}  // namespace sparsebit::cli
