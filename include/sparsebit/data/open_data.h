#pragma once

#include "sparsebit/data/model_data.h"
#include "sparsebit/data/model_facts.h"
#include "sparsebit/data/text_lines.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sparsebit::data {

/// How samples are prepared: a preset by name, which follows size, layout and type of the model's
/// input, or settings that are taken as they are.
struct PreprocessChoice {
  std::string preset = {};
  io::Preprocess settings = {};
};

/// What a user says about the samples of a model.
struct DataRequest {
  std::filesystem::path path;
  std::filesystem::path labels = {};  ///< see io::open_dataset()
  /// Of images and arrays. Nothing: images are prepared as guess_preprocess() says, arrays of other
  /// things not at all.
  std::optional<PreprocessChoice> preprocess = {};
  std::function<ModelFacts()> facts = {};  ///< for guesses, asked when there is one; may be empty
  std::filesystem::path tokenizer = {};    ///< for texts; see text::load_tokenizer()
  int64_t max_length = 512;                ///< tokens of a text, where the model's input is open
  TextPart text_part = TextPart::Both;     ///< of lines with two texts
  /// Inputs that are the same for every sample, by name: "ones", "zeros", a number or FILE.npy.
  std::vector<std::pair<std::string, std::string>> fixed = {};
};

/// Opens the samples of all inputs, told apart by what is at the path:
///
///     what io::open_dataset() reads   for the only input that is not fixed
///     an .npz file                    arrays called like the inputs; labels in `labels` or `y`
///     a folder                        with NAME.npy or a folder NAME for each input
///     a .txt, .jsonl or .tsv file     texts for input_ids, attention_mask, token_type_ids and
///                                     position_ids; see read_text_lines()
///     a .yaml file                    a manifest: where each input comes from, see docs
///
/// Throws Io when nothing is there, InvalidArgument, naming input and source, when they do not fit.
ModelData open_data(const DataRequest& request, const std::vector<InputSpec>& inputs);

}  // namespace sparsebit::data
