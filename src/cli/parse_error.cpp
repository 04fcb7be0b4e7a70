#include "cli/parse_error.h"

#include "sparsebit/core/near_match.h"
#include "sparsebit/core/printable_text.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

namespace sparsebit::cli {
namespace {

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string unknown_option(const CLI::App& command, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  const bool is_short = name.size() <= 2;  // all of them are near
  return "unknown option '" + name + "'" +
         (is_short ? "" : did_you_mean(name, long_options(command)));
}

/// The first argument that CLI11 did not recognize.
std::optional<std::string> unexpected_argument(const CLI::App& command, bool only_options) {
  const std::vector<std::string> left = command.remaining();
  const auto option = std::find_if(left.begin(), left.end(), [](const std::string& argument) {
    return argument.size() > 1 && argument.starts_with('-') && argument != "--";
  });
  if (option != left.end()) return unknown_option(command, *option);
  if (left.empty() || only_options) return std::nullopt;
  return "unexpected argument '" + left.front() + "'";
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

/// "--format: xml not in {fx,json}"
std::optional<std::string> unknown_word(std::string_view text) {
  constexpr std::string_view kNotIn = " not in {";
  const size_t colon = text.find(": "), set = text.rfind(kNotIn);
  if (colon == std::string_view::npos || set == std::string_view::npos || !text.ends_with('}'))
    return std::nullopt;
  const std::string_view option = text.substr(0, colon);
  const std::string_view word = text.substr(colon + 2, set - colon - 2);
  std::string words(text.substr(set + kNotIn.size()));
  words.pop_back();
  const std::vector<std::string> known = CLI::detail::split(words, ',');
  const std::string near = did_you_mean(word, known);
  return fmt::format("{}: unknown value '{}'{}", option, word,
                     near.empty() ? "; expected " + listed(known) : near);
}

/// A sentence of CLI11, "BEFORE middle AFTER", and ours with both parts in it.
struct Sentence {
  std::string_view start, middle, end;
  const char* ours;
};

constexpr Sentence kSentences[] = {
    {"", ": 1 required ", " missing", "{0}: a value is missing"},
    {"", ": At Most 1 required but received ", "", "{0}: expected one value, found {1}"},
    {"", ": At least ", "", "{0}: a value is missing"},
    {"", " excludes ", "", "{0} cannot go with {1}"},
    {"", " requires ", "", "{0} needs {1}"},
    {"", " was given a disallowed flag override", "", "{0} takes no value"},
    {"", ": too many inputs for a flag", "", "{0} takes no value"},
    {"", ": Should be true/false or a number", "", "{0} takes no value"},
    {"Could not convert: ", " = ", "", "{0}: expected a number, found '{1}'"},
    {"The value ", " is not an allowed value for ", "", "{1}: expected a number, found '{0}'"},
};

std::optional<std::string> said_as(const Sentence& sentence, std::string_view text) {
  if (!text.starts_with(sentence.start) || !text.ends_with(sentence.end)) return std::nullopt;
  text.remove_prefix(sentence.start.size());
  text.remove_suffix(sentence.end.size());
  const size_t middle = text.find(sentence.middle);
  if (middle == std::string_view::npos) return std::nullopt;
  return fmt::format(fmt::runtime(sentence.ours), text.substr(0, middle),
                     text.substr(middle + sentence.middle.size()));
}

/// Not by name: CLI11 gives some of them the name of the command.
bool is_a(const CLI::ParseError& error, CLI::ExitCodes kind) {
  return error.get_exit_code() == static_cast<int>(kind);
}

std::string in_our_words(const CLI::App& command, const CLI::ParseError& error) {
  const std::string text = error.what();
  if (is_a(error, CLI::ExitCodes::RequiredError)) {
    if (command.get_parent() == nullptr) return "a command is missing, such as inspect or quantize";
    return text.starts_with('-') ? text : "the argument " + text;
  }
  if (is_a(error, CLI::ExitCodes::ValidationError)) return unknown_word(text).value_or(text);
  for (const Sentence& sentence : kSentences) {
    if (const auto ours = said_as(sentence, text)) return *ours;
  }
  return text;
}

}  // namespace

std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> called = app.get_subcommands();
  const CLI::App& command = called.empty() ? app : *called.front();
  // CLI11 would first ask for what is missing: perhaps what was written with a typing error.
  const bool is_extra = is_a(error, CLI::ExitCodes::ExtrasError);
  const auto unexpected = unexpected_argument(command, /*only_options=*/!is_extra);
  return printable(unexpected ? *unexpected : in_our_words(command, error), kMostOfMessage);
}

}  // namespace sparsebit::cli
