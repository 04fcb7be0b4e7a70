#pragma once

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>

namespace sparsebit::text {

/// Changes a text before it is split: lower case, accents stripped.
using Normalizer = std::function<std::string(const std::string&)>;

struct BertNormalizer {
  bool clean_text = true;            ///< removes control characters, replaces white space by ' '
  bool handle_chinese_chars = true;  ///< adds spaces around ideographs
  bool strip_accents = true;
  bool lowercase = true;

  std::string operator()(const std::string& text) const;
};

/// Reads the `normalizer` of a tokenizer.json; null changes nothing. Throws Unsupported for unknown
/// types.
Normalizer read_normalizer(const nlohmann::json& json);

}  // namespace sparsebit::text
