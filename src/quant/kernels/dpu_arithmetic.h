#pragma once

#include <ATen/core/Tensor.h>

// Arithmetic of the DPU of Vitis AI, whose scales are 2^-e.

namespace sparsebit::quant {

/// The largest e with 2^-e >= scale: floor(log2(1 / scale)). Scales below 2^-15 are taken as 2^-15.
int dpu_exponent(double scale);

/// 2^-exponent
double dpu_scale(int exponent);

/// The rounding of activations: half to even, but negative halves toward zero, -1.5 to -1.
at::Tensor dpu_round(const at::Tensor& x);

}  // namespace sparsebit::quant
