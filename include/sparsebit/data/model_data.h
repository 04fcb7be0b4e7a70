#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/io/dataset.h"
#include "sparsebit/io/preprocess.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::data {

/// An input of a model, and what it takes.
struct InputSpec {
  std::string name;
  std::optional<fx::TensorInfo> info = {};  ///< nothing: the model does not say
  bool has_default = false;
};

/// Of a graph, in its order.
std::vector<InputSpec> inputs_of(const fx::GraphModule& module);

/// Where the samples of one input come from.
struct InputFeed {
  std::string input;
  std::shared_ptr<const io::Dataset> samples;
  io::Preprocess preprocess = {};
  /// What samples are filled up with that are shorter than others of their batch, or than the
  /// model's input; nothing: they have to be alike.
  std::optional<double> padding = {};
  std::string preset = {};        ///< of the preprocessing; empty for settings of the user's own
  std::string guessed_from = {};  ///< empty unless it was guessed
};

/// An input that is the same for every sample.
struct FixedInput {
  std::string input;
  /// A tensor as the model takes it, or one number that fills a tensor of the model's sizes.
  at::Tensor value;
};

/// A sample as it is stored, before preprocessing.
struct StoredSample {
  int64_t index = 0;  ///< among the samples
  std::string name = {};
  std::vector<int64_t> sizes = {};
};

/// Samples for all inputs of a model, read when they are asked for. Reading from several threads is
/// safe.
class ModelData {
 public:
  struct Batch {
    std::vector<at::Tensor> inputs;    ///< one for each input of the model, in its order
    std::vector<int64_t> labels = {};  ///< empty when there are none
    int64_t size = 0;
    std::vector<StoredSample> stored = {};  ///< one for each sample, of the first source
  };

  /// Throws InvalidArgument when an input has no source or two, when a source is for no input, or
  /// when sources have different numbers of samples.
  ModelData(std::vector<InputSpec> inputs, std::vector<InputFeed> feeds,
            std::vector<FixedInput> fixed = {}, std::vector<std::string> notes = {});

  ModelData(ModelData&&) = default;
  ModelData& operator=(ModelData&&) = default;

  int64_t size() const { return feeds_.front().samples->size(); }
  bool has_labels() const { return labels_ != nullptr; }
  /// Whether samples may differ in length, where the model's input is open: one at a time is run at
  /// its own length.
  bool is_ragged() const;
  /// What a user may want to know.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<InputFeed>& feeds() const { return feeds_; }
  const std::vector<InputSpec>& inputs() const { return inputs_; }

  /// An error names the sample.
  Batch batch(const std::vector<int64_t>& indices) const;

 private:
  at::Tensor fed(const InputFeed& feed, const InputSpec& spec, const std::vector<int64_t>& indices,
                 Batch& batch) const;
  const InputFeed* feed_of(const std::string& input) const;

  std::vector<InputSpec> inputs_;
  std::vector<InputFeed> feeds_;
  std::vector<FixedInput> fixed_;
  std::vector<std::string> notes_;
  const InputFeed* labels_ = nullptr;  // the feed that has them
};

}  // namespace sparsebit::data
