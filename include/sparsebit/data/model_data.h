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

/// A model input and its type.
struct InputSpec {
  std::string name;
  std::optional<fx::TensorInfo> info = {};  ///< nullopt: unknown
  bool has_default = false;
};

/// The inputs of a graph, in its order.
std::vector<InputSpec> inputs_of(const fx::GraphModule& module);

/// The source of the samples of one input.
struct InputFeed {
  std::string input;
  std::shared_ptr<const io::Dataset> samples;
  io::Preprocess preprocess = {};
  /// The padding value for samples that are shorter than others in their batch or than the model's
  /// input; nullopt: no padding, all samples must have the same shape.
  std::optional<double> padding = {};
  std::string preset = {};        ///< preprocessing preset; empty for custom settings
  std::string guessed_from = {};  ///< reason of the guess; empty unless guessed
};

/// An input that is the same for every sample.
struct FixedInput {
  std::string input;
  /// A tensor of the input's shape, or a scalar that is expanded to it.
  at::Tensor value;
};

/// A sample as it is stored, before preprocessing.
struct StoredSample {
  int64_t index = 0;  ///< in the data set
  std::string name = {};
  std::vector<int64_t> sizes = {};
};

/// Samples for all inputs of a model, read on access. Thread-safe.
class ModelData {
 public:
  struct Batch {
    std::vector<at::Tensor> inputs;    ///< one for each input of the model, in its order
    std::vector<int64_t> labels = {};  ///< empty when the data has no labels
    int64_t size = 0;
    std::vector<StoredSample> stored = {};  ///< one per sample, from the first source
  };

  /// Throws InvalidArgument when an input has no source or two, when a source is for no input, or
  /// when sources have different numbers of samples.
  ModelData(std::vector<InputSpec> inputs, std::vector<InputFeed> feeds,
            std::vector<FixedInput> fixed = {}, std::vector<std::string> notes = {});

  ModelData(ModelData&&) = default;
  ModelData& operator=(ModelData&&) = default;

  int64_t size() const { return feeds_.front().samples->size(); }
  bool has_labels() const { return labels_ != nullptr; }
  /// Whether samples may differ in length: padded samples of an input with dynamic length. With
  /// batches of one sample, each is run at its own length.
  bool is_ragged() const;
  /// Remarks for the user.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<InputFeed>& feeds() const { return feeds_; }
  const std::vector<InputSpec>& inputs() const { return inputs_; }

  /// Errors name the sample.
  Batch batch(const std::vector<int64_t>& indices) const;

 private:
  at::Tensor fed(const InputFeed& feed, const InputSpec& spec, const std::vector<int64_t>& indices,
                 Batch& batch) const;
  const InputFeed* feed_of(const std::string& input) const;

  std::vector<InputSpec> inputs_;
  std::vector<InputFeed> feeds_;
  std::vector<FixedInput> fixed_;
  std::vector<std::string> notes_;
  const InputFeed* labels_ = nullptr;  // the feed with labels
};

}  // namespace sparsebit::data
