#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// Converts a node that computes with shapes (Shape itself, and Gather, Concat, Mul, ... of its
/// result) to ints and nodes that give ints. False when the node is not of that kind.
bool convert_shape_arithmetic(Conversion& c);

}  // namespace sparsebit::frontends
