#pragma once

#include "cli/data_options.h"
#include "cli/model_runner.h"

#include "sparsebit/core/progress.h"
#include "sparsebit/metrics/output_similarity.h"

#include <string>
#include <vector>

namespace sparsebit::cli {

struct SimilarOutput {
  std::string output;
  metrics::Similarity similarity;
};

/// Maps the inputs of a model to those of a reference model: by name, otherwise by position,
/// converted to the reference's types.
class ReferenceInputs {
 public:
  /// Throws InvalidArgument when the models have different inputs.
  ReferenceInputs(const std::vector<data::InputSpec>& model,
                  const std::vector<data::InputSpec>& reference);
  std::vector<at::Tensor> of(const std::vector<at::Tensor>& inputs) const;

 private:
  struct Source {
    size_t position;
    data::InputSpec spec;
  };
  std::vector<Source> sources_;  // for each input of the reference
};

/// The common batch size of two models: the fixed one of either, or 0 if both are dynamic. Throws
/// InvalidArgument when both are fixed and differ.
int64_t common_batch(const ModelRunner& model, const ModelRunner& reference);

/// Compares each output of a model with that of a reference.
std::vector<SimilarOutput> measure_similarity(ModelRunner& model, ModelRunner& reference,
                                              const PreparedData& data,
                                              const ProgressOptions& progress);

}  // namespace sparsebit::cli
