#pragma once

#include "sparsebit/fx/resolve.h"

namespace sparsebit::fx {

/// Multiply-accumulate operations (MACs) of a call, from the shapes that are recorded in the graph
/// and the operator's facts; 0 for operators that do not sum products, and where shapes are
/// missing.
/// @param weight_shape  of the layer's weight; empty when the operator has none.
int64_t multiply_accumulates(const Node& node, const OperatorCall& call,
                             const std::vector<int64_t>& weight_shape);

}  // namespace sparsebit::fx
