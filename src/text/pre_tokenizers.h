#pragma once

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <vector>

namespace sparsebit::text {

/// A part of a text.
struct Piece {
  std::string text;
  bool starts_text = false;  ///< whether nothing is before it
};

/// Splits a text into words, which a model splits further on its own.
using PreTokenizer = std::function<std::vector<Piece>(const Piece&)>;

/// At spaces, which vanish, and around punctuation.
std::vector<Piece> bert_words(const Piece& piece);
/// Words with the space before them, each byte as a visible character: what GPT-2 does.
PreTokenizer byte_level(bool add_prefix_space, bool splits_words = true);

/// From the `pre_tokenizer` of a tokenizer.json; null leaves a text in one piece. Throws
/// Unsupported for types that are not known.
PreTokenizer read_pre_tokenizer(const nlohmann::json& json);

}  // namespace sparsebit::text
