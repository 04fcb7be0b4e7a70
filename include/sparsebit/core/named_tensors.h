#pragma once

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

#include <string>

namespace sparsebit {

/// Tensors by name, in order of insertion: state dicts, and what is in a file of them.
using NamedTensors = torch::OrderedDict<std::string, at::Tensor>;

}  // namespace sparsebit
