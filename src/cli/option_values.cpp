#include "cli/option_values.h"

#include "sparsebit/deploy/artefact_format.h"
#include "sparsebit/io/preprocess.h"
#include "sparsebit/passes/pass.h"
#include "sparsebit/platforms/platform.h"

#include <CLI/CLI.hpp>

#include <utility>

namespace sparsebit::cli {
namespace {

std::vector<std::string> preset_words() {
  std::vector<std::string> names;
  for (const io::PreprocessPreset& preset : io::preprocess_presets()) names.push_back(preset.name);
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

OptionValues option_values(const CLI::Option& option) {
  if (!takes_value(option)) return {};
  const std::string type = option.get_type_name();
  if (auto words = words_of_type(type); !words.empty()) return {.words = std::move(words)};
  if (type == value_kind::kFile || type == value_kind::kFolder || type == value_kind::kPath)
    return {.words = {}, .is_file = true};
  if (type == value_kind::kModel) return {.words = {}, .is_file = true, .is_model = true};
  if (type == value_kind::kPlatform)
    return {.words = platforms::platforms().names(), .is_file = true};
  if (type == value_kind::kPresetOrFile) return {.words = preset_words(), .is_file = true};
  if (type == value_kind::kPass) return {.words = passes::passes().names()};
  if (type == value_kind::kArtefactFormat) return {.words = deploy::artefact_formats().names()};
  if (type != value_kind::kPreset) return {};
  OptionValues presets{.words = preset_words()};
  presets.words.emplace_back("list");
  return presets;
}

}  // namespace sparsebit::cli
