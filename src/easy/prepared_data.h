#pragma once

#include "sparsebit/data/model_data.h"
#include "sparsebit/data/model_facts.h"
#include "sparsebit/data/text_lines.h"
#include "sparsebit/fx/graph_module.h"
#include "sparsebit/io/preprocess.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::easy {

/// Where samples come from and how they are preprocessed; named like the options of the command.
struct DataOptions {
  std::string data;
  std::string labels;
  std::string preprocess = {};                      ///< a preset or a YAML file; empty: not given
  std::string tokenizer = {};                       ///< file or folder; empty: beside the model
  int64_t max_length = 512;                         ///< maximum number of tokens per text
  data::TextPart text_part = data::TextPart::Both;  ///< which text of a pair; not an option
  std::vector<std::string> fixed = {};   ///< NAME=ones, NAME=zeros, NAME=0.5 or NAME=FILE.npy
  std::vector<std::string> shapes = {};  ///< shapes of dynamic inputs, see --shape
  int64_t samples = 0;                   ///< 0 = all
  int64_t batch_size = 8;
  bool random = false;  ///< random numbers instead of data
};

/// The chosen samples of a data set, preprocessed for a model.
class PreparedData {
 public:
  using Batch = data::ModelData::Batch;

  /// @param source  the model as written on the command line.
  /// @param seed  chooses the samples when --samples is less than all.
  /// @param preprocess  used when --preprocess is not given.
  /// @param facts  facts about the model, to guess the preprocessing of images when neither is
  ///               given, and for random data.
  PreparedData(const DataOptions& options, const std::vector<data::InputSpec>& inputs,
               const std::string& source, uint64_t seed,
               const std::optional<io::Preprocess>& preprocess = {},
               const std::function<data::ModelFacts()>& facts = {});

  int64_t size() const { return static_cast<int64_t>(chosen_.size()); }
  bool has_all() const { return size() == data_.size(); }
  /// The batch size for a model whose batch size is fixed at `fixed` (0: dynamic); 1, or `fixed`,
  /// where samples differ in length. Throws InvalidArgument when `fixed` does not divide size().
  int64_t step(int64_t fixed) const;
  /// The batch size for one batch of at most `count` samples: `fixed` if the model fixes it, 1
  /// where samples differ in length.
  int64_t at_most(int64_t count, int64_t fixed) const;
  bool has_labels() const { return data_.has_labels(); }
  bool is_ragged() const { return data_.is_ragged(); }
  /// The preprocessing of the samples in Batch::stored.
  const io::Preprocess& stored_preprocess() const { return data_.feeds().front().preprocess; }
  bool is_random() const { return is_random_; }
  /// The first input with preprocessing, such as the images; otherwise the first input.
  const data::InputFeed& prepared_feed() const;
  const io::Preprocess& preprocess() const { return prepared_feed().preprocess; }
  /// "imagenet (guessed from a 3x224x224 input and 1000 classes; --preprocess NAME sets it)"
  std::string preprocess_text() const;
  const data::ModelData& model_data() const { return data_; }
  /// Warnings from opening the data.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Whether samples are stored as uint8.
  bool has_bytes() const;

  /// Samples from `start` on, at most `count`, read by several threads. An error names the sample.
  Batch batch(int64_t start, int64_t count) const;

 private:
  void warn(std::string text);

  std::string preprocess_name_;  // a preset, a file, or empty
  data::ModelData data_;
  std::vector<std::string> warnings_;
  bool is_random_;
  std::vector<int64_t> chosen_;  // ascending
  int64_t batch_size_;
};

/// The tokenizer file in the model's folder or its parent; empty if there is none.
std::string tokenizer_beside(const std::string& model);

/// The tensors as input values of a model.
std::vector<fx::Value> values_of(const std::vector<at::Tensor>& inputs);

/// Throws InvalidArgument when the shapes of a batch do not fit the inputs of the model.
void check_fits(const fx::GraphModule& module, const std::vector<at::Tensor>& batch,
                const std::string& source);

/// The names of all presets for help texts: "imagenet, timm, ..."
std::string preset_names();

/// A preset by name, or settings from a YAML file.
io::Preprocess preprocess_of(const std::string& preset_or_file);

}  // namespace sparsebit::easy
