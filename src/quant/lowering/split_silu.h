#pragma once

#include "sparsebit/fx/graph_module.h"

namespace sparsebit::quant {

/// Writes silu as x * sigmoid(x). ONNX Runtime has integer kernels for these two, and none for it.
void split_silu(fx::GraphModule& module);

}  // namespace sparsebit::quant
