#pragma once

#include "sparsebit/fx/graph_module.h"

#include <vector>

namespace sparsebit::quant {

/// Splits the inputs of a batch into samples, or groups of `at_once` samples if the graph has a
/// fixed batch size. The result of libraries for a sample depends on the batch size, so calibration
/// uses the same size for all. Tensors with axes are split on the first axis, whose sizes must
/// agree.
std::vector<std::vector<fx::Value>> samples_of(const std::vector<fx::Value>& batch,
                                               int64_t at_once);

/// Joins the outputs of samples to the output of the batch: tensors on their first axis.
fx::Value joined(const std::vector<fx::Value>& results);

}  // namespace sparsebit::quant
