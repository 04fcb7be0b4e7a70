#pragma once

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <vector>

namespace sparsebit::text {

/// A part of a text.
struct Piece {
  std::string text;
  bool starts_text = false;  ///< whether it is the beginning of the text
};

/// Splits a text into words, which the model splits into tokens independently.
using PreTokenizer = std::function<std::vector<Piece>(const Piece&)>;

/// Splits at white space, which is removed, and around punctuation.
std::vector<Piece> bert_words(const Piece& piece);
/// Splits into words with their preceding space, mapping bytes to visible characters, as in GPT-2.
PreTokenizer byte_level(bool add_prefix_space, bool splits_words = true);

/// Reads the `pre_tokenizer` of a tokenizer.json; null does not split. Throws Unsupported for
/// unknown types.
PreTokenizer read_pre_tokenizer(const nlohmann::json& json);

}  // namespace sparsebit::text
