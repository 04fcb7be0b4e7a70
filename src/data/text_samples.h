#pragma once

#include "sparsebit/data/text_lines.h"
#include "sparsebit/io/dataset.h"
#include "sparsebit/text/tokenizer.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::data {

/// The meaning of a language model's input.
enum class TokenRole { Ids, Mask, Types, Positions };

/// The role of an input by the usual names in exported models: input_ids, attention_mask,
/// token_type_ids, position_ids and variants. nullopt for others.
std::optional<TokenRole> token_role(const std::string& input);

/// The tokenized texts of a file.
struct TextSamples {
  std::vector<text::Encoding> encodings;
  std::vector<std::optional<int64_t>> labels;  ///< one per text
  std::string description;
  int64_t truncated = 0;  ///< number of truncated texts
};

/// Reads and tokenizes the texts of a file, see read_text_lines().
/// @param length  maximum tokens of a text.
/// Throws InvalidArgument, naming the line.
TextSamples read_texts(const std::filesystem::path& file, const text::Tokenizer& tokenizer,
                       int64_t length, TextPart part = TextPart::Both);

/// The samples of one input; they differ in length.
std::shared_ptr<const io::Dataset> token_dataset(std::shared_ptr<const TextSamples> samples,
                                                 TokenRole role);

}  // namespace sparsebit::data
