#pragma once

#include "frontends/onnx/conversion.h"

namespace sparsebit::frontends {

/// Fuses an Add of a constant into the layer made from the MatMul before it, as its bias, so that
/// both become one torch.nn.Linear. False when the Add cannot be fused.
bool absorb_bias(Conversion& c);

}  // namespace sparsebit::frontends
