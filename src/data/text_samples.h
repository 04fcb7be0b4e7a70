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

/// What inputs of language models are made of.
enum class TokenRole { Ids, Mask, Types, Positions };

/// By the names that exporters give inputs: input_ids, attention_mask, token_type_ids, position_ids
/// and their variants. Nothing for others.
std::optional<TokenRole> token_role(const std::string& input);

/// The texts of a file as tokens.
struct TextSamples {
  std::vector<text::Encoding> encodings;
  std::vector<std::optional<int64_t>> labels;  ///< one for each
  std::string description;
  int64_t truncated = 0;  ///< how many texts were cut
};

/// The texts of a file, see read_text_lines().
/// @param length  most tokens of a text.
/// Throws InvalidArgument, naming the line.
TextSamples read_texts(const std::filesystem::path& file, const text::Tokenizer& tokenizer,
                       int64_t length, TextPart part = TextPart::Both);

/// One input of them; samples differ in length.
std::shared_ptr<const io::Dataset> token_dataset(std::shared_ptr<const TextSamples> samples,
                                                 TokenRole role);

}  // namespace sparsebit::data
