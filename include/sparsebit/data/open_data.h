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

/// The preprocessing chosen by the user: a preset, which is adapted to size, layout and type of the
/// model's input, or settings, which are used unchanged.
struct PreprocessChoice {
  std::string preset = {};
  io::Preprocess settings = {};
};

/// The user's options for the data of a model.
struct DataRequest {
  std::filesystem::path path;
  std::filesystem::path labels = {};  ///< see io::open_dataset()
  /// For images and arrays. nullopt: images are preprocessed by guess_preprocess(), other arrays
  /// are not preprocessed.
  std::optional<PreprocessChoice> preprocess = {};
  std::function<ModelFacts()> facts = {};  ///< for guesses, called on demand; may be empty
  std::filesystem::path tokenizer = {};    ///< for texts; see text::load_tokenizer()
  int64_t max_length = 512;  ///< maximum tokens of a text if the input's length is dynamic
  TextPart text_part = TextPart::Both;  ///< for lines with two texts
  /// Inputs that are the same for every sample, by name: "ones", "zeros", a number or FILE.npy.
  std::vector<std::pair<std::string, std::string>> fixed = {};
};

/// Opens the samples of all inputs; the kind of data is detected from the path:
///
///     what io::open_dataset() reads   for the only input that is not fixed
///     an .npz file                    arrays named like the inputs; labels in `labels` or `y`
///     a folder                        with NAME.npy or a folder NAME for each input
///     a .txt, .jsonl or .tsv file     texts for input_ids, attention_mask, token_type_ids and
///                                     position_ids; see read_text_lines()
///     a .yaml file                    a manifest: the source of each input, see
///                                     docs/how_to/quantize_several_inputs.md
///
/// Throws Io when the path does not exist, InvalidArgument, naming input and source, when they do
/// not match.
ModelData open_data(const DataRequest& request, const std::vector<InputSpec>& inputs);

}  // namespace sparsebit::data
