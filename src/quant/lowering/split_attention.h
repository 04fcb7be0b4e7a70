#pragma once

#include "sparsebit/fx/graph_module.h"

namespace sparsebit::quant {

/// Writes attention as its steps, so that each product and each projection has integers of its own:
///
///     attention(q, k, v)   =>   softmax(q @ k^T * scale + mask) @ v
///     MultiheadAttention   =>   the same between the layers q_proj, k_proj, v_proj and out_proj
///
/// Needs recorded shapes. Attention that gives its weights, drops values or has masks of unknown
/// type stays one step, in float.
/// @returns whether there was any.
bool split_attention(fx::GraphModule& module);

}  // namespace sparsebit::quant
