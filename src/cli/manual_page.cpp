#include "cli/application.h"
#include "cli/option_values.h"
#include "sparsebit/cli/cli.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <sstream>
#include <string_view>

namespace sparsebit::cli {
namespace {

/// Text of a line of groff: nothing in it is a request or an escape, and a hyphen is a minus, which
/// can be copied.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '\n':
        result += ' ';
        break;
      default:
        result += c;
    }
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

/// "TEXT:{fx,json}" says its words, "TEXT" is a value.
std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  if (open != std::string::npos) return type.substr(open);
  return type.substr(0, type.find(':'));
}

std::string option_title(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : names_of(option)) names.push_back(bold(name));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  if (takes_value(option)) text += " " + italic(value_name(option));
  return text;
}

std::string entry(const std::string& title, const CLI::Option& option) {
  std::string text = ".TP\n" + title + "\n" + roff(option.get_description());
  if (option.get_required()) text += roff(" (required)");
  if (takes_value(option) && !option.get_default_str().empty())
    text += roff(" (default: " + option.get_default_str() + ")");
  return text + "\n";
}

/// An argument that is also an option has an entry for each.
std::string option_entries(const CLI::Option& option) {
  std::string text;
  if (option.get_positional()) text += entry(italic(option.get_name(true)), option);
  if (!names_of(option).empty()) text += entry(option_title(option), option);
  return text;
}

/// Paragraphs as they are; lines that are indented are for the shell.
std::string footer_text(const CLI::App& app) {
  std::istringstream lines(app.get_footer());
  std::string text = ".PP\n";
  bool in_example = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_example = line.starts_with("  ");
    if (is_example != in_example) text += is_example ? ".PP\n.nf\n.RS 4\n" : ".RE\n.fi\n.PP\n";
    in_example = is_example;
    if (!line.empty()) text += roff(is_example ? line.substr(2) : line) + "\n";
  }
  return text + (in_example ? ".RE\n.fi\n" : "");
}

std::string command_section(const CLI::App& command) {
  std::string synopsis = bold("sparsebit " + command.get_name());
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) synopsis += " " + italic(option->get_name(true));
  }
  std::string text = ".SS " + synopsis + " [" + italic("options") + "]\n";
  text += roff(command.get_description()) + ".\n";
  for (const CLI::Option* option : command.get_options()) text += option_entries(*option);
  return text + footer_text(command);
}

constexpr std::string_view kEnd = R"ROFF(.SH EXIT STATUS
.TP
.B 0
success
.TP
.B 1
failure; the message says what, where and what to do
.TP
.B 2
wrong usage: an unknown option, a missing argument, a value that does not parse
.SH ENVIRONMENT
.TP
.B NO_COLOR
If it is not empty, nothing is coloured.
.TP
.B CLICOLOR_FORCE
If it is neither empty nor 0, words are coloured in files and pipes as well.
.TP
.B SPARSEBIT_MAX_MEMORY
The memory limit of commands without \-\-max-memory, such as 8GB.
.TP
.B SPARSEBIT_MAX_WORK
The number of operations for recording shapes, which quantize, analyze and deploy need of models
with a fixed batch. Default: 2e13.
.TP
.B TERM
With
.B dumb
there are neither colours nor progress bars, but lines.
.TP
.B SPARSEBIT_MAX_MEMORY
Memory limit, such as 8GB, if \-\-max\-memory is not given.
.TP
.B SPARSEBIT_ONNXRUNTIME
Folder of ONNX Runtime, or Python interpreter that has it.
.TP
.B SPARSEBIT_RUNTIME_SECONDS
Time limit for each answer of ONNX Runtime. Default: 600.
)ROFF";

}  // namespace

std::string manual_page() {
  const auto app = make_application(std::cout);
  const std::string purpose = app->get_description();
  std::string text = ".\\\" Made of the declarations that `sparsebit --help` prints.\n";
  text += ".TH SPARSEBIT 1 \"\" \"sparsebit " SPARSEBIT_VERSION "\" \"User Commands\"\n";
  text += ".SH NAME\nsparsebit \\- " + roff(purpose.substr(0, purpose.find('.'))) + "\n";
  text += ".SH SYNOPSIS\n" + bold("sparsebit") + " " + italic("command") + " [" +
          italic("options") + "]\n.br\n" + bold("sparsebit help") + " [" + italic("command") +
          "]\n";
  text += ".SH DESCRIPTION\n" + roff(purpose) + "\n" + footer_text(*app);
  text += ".SH OPTIONS\n";
  for (const CLI::Option* option : std::as_const(*app).get_options())
    text += option_entries(*option);
  text += ".SH COMMANDS\n";
  for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; }))
    text += command_section(*command);
  return text.append(kEnd);
}

}  // namespace sparsebit::cli
