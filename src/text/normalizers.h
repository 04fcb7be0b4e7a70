#pragma once

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>

namespace sparsebit::text {

/// Changes a text before it is split: small letters, no accents.
using Normalizer = std::function<std::string(const std::string&)>;

struct BertNormalizer {
  bool clean_text = true;            ///< no control characters, spaces are ' '
  bool handle_chinese_chars = true;  ///< spaces around ideographs
  bool strip_accents = true;
  bool lowercase = true;

  std::string operator()(const std::string& text) const;
};

/// From the `normalizer` of a tokenizer.json; null gives the text as it is. Throws Unsupported for
/// types that are not known.
Normalizer read_normalizer(const nlohmann::json& json);

}  // namespace sparsebit::text
