#pragma once

#include "sparsebit/fx/graph_module.h"

#include <vector>

namespace sparsebit::quant {

/// The inputs of single samples, or of as many as the graph takes at once, out of those of a batch.
/// What a library computes for a sample depends on how many others are beside it, so calibration
/// always shows it as many. Tensors whose first axis is the batch are split: all that have axes
/// must agree on its size.
std::vector<std::vector<fx::Value>> samples_of(const std::vector<fx::Value>& batch,
                                               int64_t at_once);

/// The results of samples as the batch would give them: tensors joined on their first axis.
fx::Value joined(const std::vector<fx::Value>& results);

}  // namespace sparsebit::quant
