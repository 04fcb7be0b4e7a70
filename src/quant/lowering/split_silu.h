#pragma once

#include "sparsebit/fx/graph_module.h"

namespace sparsebit::quant {

/// Rewrites silu as x * sigmoid(x). ONNX Runtime has integer kernels for mul and sigmoid, but none
/// for silu.
void split_silu(fx::GraphModule& module);

}  // namespace sparsebit::quant
