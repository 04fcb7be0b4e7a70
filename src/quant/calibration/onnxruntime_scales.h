#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/quantizers/quant_point.h"

#include <vector>

namespace sparsebit::quant {

/// Adjusts calibrated scales to the kernels of ONNX Runtime:
/// - AVX2 kernels add two products in 16 bits, so integer weights must be small enough
///   (`QUANTIZER.AVX2_SAFE`);
/// - biases with input scale * weight scale must fit 32 bits;
/// - the quantizer after a relu6 must clip at the same bound, so that the relu6 can be omitted.
void fit_scales_to_onnxruntime(fx::GraphModule& module, const std::vector<QuantPoint>& points);

}  // namespace sparsebit::quant
