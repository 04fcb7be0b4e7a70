#pragma once

#include <ATen/core/Tensor.h>

// Numbers of the DPU of Vitis AI: its scales are 2^-e.

namespace sparsebit::quant {

/// The largest e of which 2^-e is no smaller than the scale: floor(log2(1 / scale)). Scales below
/// 2^-15 count as 2^-15.
int dpu_exponent(double scale);

/// 2^-exponent
double dpu_scale(int exponent);

/// As features are rounded: half to even, but exact negative halves toward zero, -1.5 to -1.
at::Tensor dpu_round(const at::Tensor& x);

}  // namespace sparsebit::quant
