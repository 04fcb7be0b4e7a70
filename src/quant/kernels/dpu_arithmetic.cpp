#include "quant/kernels/dpu_arithmetic.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace sparsebit::quant {

int dpu_exponent(double scale) {
  int exponent = 0;
  const double mantissa = std::frexp(std::max(scale, dpu_scale(15)), &exponent);  // 0.5 to 1
  return mantissa == 0.5 ? 1 - exponent : -exponent;
}

double dpu_scale(int exponent) { return std::ldexp(1., -exponent); }

at::Tensor dpu_round(const at::Tensor& x) {
  const at::Tensor up = at::ceil(x);
  const at::Tensor is_negative_half = x.lt(0).logical_and((up - x).eq(0.5));
  return at::where(is_negative_half, up, at::round(x));
}

}  // namespace sparsebit::quant
