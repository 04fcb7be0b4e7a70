#pragma once

#include "sparsebit/deploy/tensor_range.h"
#include "sparsebit/export/onnx.h"
#include "sparsebit/quant/quant_model.h"

#include <vector>

namespace sparsebit::deploy {

/// The ranges of a model's quantizers by the names of its clean ONNX, see DeployModel::ranges().
std::vector<TensorRange> find_ranges(const quant::QuantModel& model,
                                     const exports::NamedOnnx& clean);

/// The input of a Flatten, Reshape or Resize holds the same numbers as its result: without a range
/// of its own it inherits the result's.
void propagate_ranges(const onnx::GraphProto& graph, std::vector<TensorRange>& ranges);

}  // namespace sparsebit::deploy
