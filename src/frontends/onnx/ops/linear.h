#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// Turns an Add of a constant to the result of a layer made from MatMul into that layer's bias, so
/// that both are one torch.nn.Linear. False when the Add is something else.
bool absorb_bias(Conversion& c);

}  // namespace sparsebit::frontends
