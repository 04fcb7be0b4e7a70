#pragma once

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

#include <string>

namespace sparsebit {

/// Tensors by name, in order of insertion, such as a state dict or the contents of a tensor file.
using NamedTensors = torch::OrderedDict<std::string, at::Tensor>;

}  // namespace sparsebit
