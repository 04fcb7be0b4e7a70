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

/// Runs a reference model on the samples of another one: inputs of the same name, or at the same
/// position, in the type that it takes.
class ReferenceInputs {
 public:
  /// Throws InvalidArgument when the two have different inputs.
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

/// How many samples two models take at once: what one of them fixes, or 0. Throws InvalidArgument
/// when they fix different numbers.
int64_t common_batch(const ModelRunner& model, const ModelRunner& reference);

/// How near the outputs of a model are to those of a reference, output by output.
std::vector<SimilarOutput> measure_similarity(ModelRunner& model, ModelRunner& reference,
                                              const PreparedData& data,
                                              const ProgressOptions& progress);

}  // namespace sparsebit::cli
