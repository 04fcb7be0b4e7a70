#pragma once

#include "sparsebit/fx/graph_module.h"

namespace sparsebit::quant {

/// Splits attention into matrix products and projections, so that each gets its own quantizers:
///
///     attention(q, k, v)   =>   softmax(q @ k^T * scale + mask) @ v
///     MultiheadAttention   =>   the same between the layers q_proj, k_proj, v_proj and out_proj
///
/// Needs recorded shapes. Attention that returns its weights, has dropout or masks of unknown type
/// is not split and stays float.
/// @returns whether any attention was split.
bool split_attention(fx::GraphModule& module);

}  // namespace sparsebit::quant
