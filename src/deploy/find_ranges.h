#pragma once

#include "sparsebit/deploy/tensor_range.h"
#include "sparsebit/export/onnx.h"
#include "sparsebit/quant/quant_model.h"

#include <vector>

namespace sparsebit::deploy {

/// The ranges of a model's quantizers by the names of its clean ONNX, see DeployModel::ranges().
std::vector<TensorRange> find_ranges(const quant::QuantModel& model,
                                     const exports::NamedOnnx& clean);

/// Gives the input of a Flatten, Reshape or Resize the range of the output, which has the same
/// values, unless the input has a range.
void propagate_ranges(const onnx::GraphProto& graph, std::vector<TensorRange>& ranges);

}  // namespace sparsebit::deploy
