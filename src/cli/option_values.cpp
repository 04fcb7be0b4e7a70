#include "cli/option_values.h"

#include "sparsebit/deploy/artefact_format.h"
#include "sparsebit/io/preprocess.h"
#include "sparsebit/passes/pass.h"
#include "sparsebit/platforms/platform.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace sparsebit::cli {
namespace {

/// Text that is neither a file nor one of a few words.
constexpr std::array<std::string_view, 7> kFreeText = {
    "--shape", "--skip", "--node", "--exclude", "--name", "--dynamic", "--input"};

std::vector<std::string> preset_words(const char* another) {
  std::vector<std::string> names;
  for (const io::PreprocessPreset& preset : io::preprocess_presets()) names.push_back(preset.name);
  if (another != nullptr) names.emplace_back(another);
  return names;
}

/// The words of "TEXT:{fx,json}".
std::vector<std::string> words_of_type(const std::string& type) {
  const size_t open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

}  // namespace

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

OptionValues option_values(const CLI::App& command, const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::string name = option.get_positional() ? option.get_name() : names_of(option).back();
  if (!takes_value(option)) return {};
  if (const auto words = words_of_type(type); !words.empty()) return {.words = words};
  if (name == "model" || name == "--against")
    return {.words = {}, .is_file = true, .is_model = true};
  const bool shows_platform = name == "--show" && command.get_name() == "platforms";
  if (name == "--platform" || shows_platform)
    return {.words = platforms::platforms().names(), .is_file = true};
  if (name == "--preprocess") return {.words = preset_words(nullptr), .is_file = true};
  if (name == "--show-preprocess") return {.words = preset_words("list")};
  if (name == "--without") return {.words = passes::passes().names()};
  if (name == "--format") return {.words = deploy::artefact_formats().names()};
  const bool is_free = std::find(kFreeText.begin(), kFreeText.end(), name) != kFreeText.end();
  return {.words = {}, .is_file = type == "TEXT" && !is_free};
}

}  // namespace sparsebit::cli
