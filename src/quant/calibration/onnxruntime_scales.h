#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/quantizers/quant_point.h"

#include <vector>

namespace sparsebit::quant {

/// Changes scales where ONNX Runtime needs others:
/// - its kernels for AVX2 add two products in 16 bits, and weights must be small enough
///   (`QUANTIZER.AVX2_SAFE`);
/// - a bias has to fit 32 bits with the scale of input times weight;
/// - rounding is to end where a relu6 before it ends, so that it is not needed any more.
/// Everything is calibrated.
void fit_scales_to_onnxruntime(fx::GraphModule& module, const std::vector<QuantPoint>& points);

}  // namespace sparsebit::quant
