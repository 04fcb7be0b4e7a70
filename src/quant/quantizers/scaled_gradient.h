#pragma once

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::quant {

/// The same number, of which training sees a gradient `factor` times as large.
inline at::Tensor with_gradient_times(const at::Tensor& x, double factor) {
  return (x - x * factor).detach() + x * factor;
}

/// 1 / sqrt(N * qmax), N numbers to a scale: what LSQ gives its scales of their gradients.
inline double lsq_factor(const at::Tensor& x, const at::Tensor& scale, int64_t qmax) {
  const double per_scale = static_cast<double>(x.numel()) / static_cast<double>(scale.numel());
  return 1 / std::sqrt(std::max(per_scale, 1.) * static_cast<double>(qmax));
}

}  // namespace sparsebit::quant
