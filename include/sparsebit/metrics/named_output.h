#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace sparsebit::metrics {

/// One output tensor of a model.
struct NamedOutput {
  std::string name;
  at::Tensor tensor;
};

/// The part of each output that belongs to one sample of a batch; the batch axis is kept with
/// size 1. Throws InvalidArgument when an output of a batch of several samples has no batch axis.
std::vector<NamedOutput> outputs_of_sample(const std::vector<NamedOutput>& outputs, int64_t sample,
                                           int64_t batch);

/// "boxes [1, 300, 4], scores [1, 300]", for messages.
std::string describe(const std::vector<NamedOutput>& outputs);

}  // namespace sparsebit::metrics
