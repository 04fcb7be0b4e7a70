#include "cli/application.h"
#include "cli/option_values.h"
#include "sparsebit/cli/cli.h"
#include "sparsebit/zoo/zoo.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <functional>
#include <iostream>
#include <string_view>

namespace sparsebit::cli {
namespace {

/// zoo:list and all zoo models.
std::string zoo_words() {
  std::string words = "zoo:list";
  for (const std::string& name : zoo::architectures().names()) words += " zoo:" + name;
  return words;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// --- bash ----------------------------------------------------------------------------------------

std::string bash_choice(const OptionValues& values) {
  if (values.is_model) return "model";
  if (values.words.empty()) return values.is_file ? "file" : "nothing";
  return fmt::format("{} {}", values.is_file ? "word_or_file" : "word",
                     fmt::join(values.words, " "));
}

/// The completions of one command: of each option's value, of its argument and of option names.
std::string bash_cases(const CLI::App& command) {
  std::string options, cases, argument = "nothing";
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string> names = names_of(*option);
    const std::string choice = bash_choice(option_values(*option));
    if (option->get_positional()) argument = choice;
    if (names.empty()) continue;
    options += fmt::format(" {}", fmt::join(names, " "));
    if (takes_value(*option))
      cases += fmt::format("        {}) choice='{}' ;;\n", fmt::join(names, "|"), choice);
  }
  return fmt::format(
      "    {})\n      case $previous in\n{}        *) choice='{}' options='{}' ;;\n"
      "      esac ;;\n",
      command.get_name(), cases, argument, options.substr(1));
}

constexpr std::string_view kBashStart =
    R"BASH(# bash completion of sparsebit, made of the declarations that its --help prints.

# Adds the words that start with $current to COMPREPLY.
_sparsebit_word() {
  local word
  for word in "$@"; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done
}

_sparsebit_file() {
  local word
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
  compopt -o filenames 2> /dev/null
}

_sparsebit_word_or_file() {
  _sparsebit_word "$@"
  _sparsebit_file
}

_sparsebit_nothing() { :; }

# The zoo has many models: names are offered after `zoo:`.
_sparsebit_model() {
  if [[ $current != zoo:* ]]; then
    _sparsebit_file
    if [[ -n $current && zoo: == "$current"* ]]; then
      COMPREPLY+=(zoo:)
      compopt -o nospace 2> /dev/null
    fi
    return
  fi
  _sparsebit_word @ZOO@
  # readline completes only the part after the colon.
  [[ $COMP_WORDBREAKS == *:* ]] && COMPREPLY=("${COMPREPLY[@]#zoo:}")
}

_sparsebit() {
  local current previous command= word choice=nothing options= i count=0
  local words=()
  # readline splits zoo:NAME and --option=VALUE.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $count -gt 0 && ${words[count-1]} == zoo && $word == : ]]; then
      words[count-1]=zoo:
    elif [[ $count -gt 0 && ${words[count-1]} == zoo: ]]; then
      words[count-1]=zoo:$word
    elif [[ $word == = ]]; then
      [[ $i -eq $COMP_CWORD ]] && words[count++]=
    else
      words[count++]=$word
    fi
  done
  current=${words[count-1]} previous=
  [[ $count -gt 1 ]] && previous=${words[count-2]} command=${words[0]}
  COMPREPLY=()
  case $command in
)BASH";

constexpr std::string_view kBashEnd = R"BASH(  esac
  if [[ $current == -* && -n $options ]]; then
    _sparsebit_word $options
  else
    _sparsebit_$choice
  fi
}

complete -F _sparsebit sparsebit
)BASH";

// --- zsh -----------------------------------------------------------------------------------------

/// One sentence or so; in a specification of _arguments, inside single quotes.
std::string zsh_text(std::string_view help) {
  constexpr size_t kMost = 90;
  size_t end = std::min({help.find_first_of(":;"), help.size(), kMost});
  const auto in_character = [&] {  // of several bytes in UTF-8
    return end < help.size() && (static_cast<unsigned char>(help[end]) & 0xC0) == 0x80;
  };
  while (end > 0 && in_character()) --end;
  help = help.substr(0, end);
  std::string text;
  for (const char c : help) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

std::string zsh_action(const OptionValues& values) {
  if (values.is_model) return "_sparsebit_model";
  if (values.words.empty()) return values.is_file ? "_files" : " ";
  if (!values.is_file) return fmt::format("({})", fmt::join(values.words, " "));
  return fmt::format(" _sparsebit_word_or_file {}", fmt::join(values.words, " "));
}

std::string zsh_option(const CLI::Option& option) {
  const std::vector<std::string> names = names_of(option);
  const bool takes = takes_value(option);
  const bool repeats = option.get_items_expected_max() > 1;
  std::string text;
  for (const std::string& name : names) {
    const bool is_long = name.starts_with("--");
    text += fmt::format(" \\\n        '{}{}{}[{}]{}'",
                        repeats ? "*" : fmt::format("({})", fmt::join(names, " ")), name,
                        !takes    ? ""
                        : is_long ? "="
                                  : "+",
                        zsh_text(option.get_description()),
                        takes ? ":value:" + zsh_action(option_values(option)) : "");
  }
  return text;
}

std::string zsh_case(const CLI::App& command) {
  std::string text = fmt::format("    {})\n      _arguments", command.get_name());
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional())
      text += fmt::format(" \\\n        '1:{}:{}'", option->get_name(true),
                          zsh_action(option_values(*option)));
    text += zsh_option(*option);  // an argument may also be an option
  }
  return text + " ;;\n";
}

constexpr std::string_view kZshStart = R"ZSH(#compdef sparsebit
# zsh completion of sparsebit, made of the declarations that its --help prints.

_sparsebit_word_or_file() {
  compadd -- "$@"
  _files
}

_sparsebit_model() {
  compadd -- @ZOO@
  _files
}

_sparsebit_commands() {
  local -a commands=(
@COMMANDS@    'help:Print what a command does'
  )
  _describe command commands
}

_sparsebit() {
  local state line curcontext="$curcontext"
  local -A opt_args
  _arguments -C \
    '(- *)'{-h,--help}'[Print help and exit]' \
    '(- *)'{-V,--version}'[Print the version and exit]' \
    '1:command:_sparsebit_commands' \
    '*::argument:->arguments'
  [[ $state == arguments ]] || return
  case $line[1] in
    help) _sparsebit_commands ;;
)ZSH";

constexpr std::string_view kZshEnd = R"ZSH(  esac
}

_sparsebit "$@"
)ZSH";

std::string filled(std::string_view text, std::string_view gap, const std::string& with) {
  std::string result(text);
  return result.replace(result.find(gap), gap.size(), with);
}

}  // namespace

std::string bash_completion() {
  const auto app = make_application(std::cout);
  const std::vector<std::string> names = names_of_commands(*app);
  std::string text = filled(kBashStart, "@ZOO@", zoo_words());
  text += fmt::format("    '') choice='word {} help' options='-h --help -V --version' ;;\n",
                      fmt::join(names, " "));
  text += fmt::format("    help) choice='word {}' ;;\n", fmt::join(names, " "));
  for (const CLI::App* command : commands_of(*app)) text += bash_cases(*command);
  return text.append(kBashEnd);
}

std::string zsh_completion() {
  const auto app = make_application(std::cout);
  std::string commands, cases;
  for (const CLI::App* command : commands_of(*app)) {
    commands +=
        fmt::format("    '{}:{}'\n", command->get_name(), zsh_text(command->get_description()));
    cases += zsh_case(*command);
  }
  const std::string start = filled(filled(kZshStart, "@ZOO@", zoo_words()), "@COMMANDS@", commands);
  return (start + cases).append(kZshEnd);
}

}  // namespace sparsebit::cli
