#include "sparsebit/quant/spec/qparams.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sparsebit::quant {

QParams qparams_from_range(const at::Tensor& low, const at::Tensor& high, const QuantSpec& spec) {
  const at::Tensor lo = low.to(at::kFloat).clamp_max(0), hi = high.to(at::kFloat).clamp_min(0);
  SPARSEBIT_CHECK(at::isfinite(hi - lo).all().item<bool>(), InvalidArgument,
                  "the range of values is not finite");
  const double steps = static_cast<double>(spec.qmax() - spec.qmin());
  if (spec.is_symmetric()) {
    const at::Tensor fits = (2 * at::maximum(-lo, hi) / steps).clamp_min(kLeastScale);
    const at::Tensor scale = rounded_up(fits, spec.scale_bits);
    return {scale, at::zeros_like(scale)};
  }
  const at::Tensor fits = ((hi - lo) / steps).clamp_min(kLeastScale);
  const at::Tensor scale = rounded_up(fits, spec.scale_bits);
  return {scale, at::round(-lo / scale)};
}

at::Tensor rounded_up(const at::Tensor& scale, int significant_bits) {
  if (significant_bits == 0) return scale;
  const auto [mantissa, exponent] = at::frexp(scale);  // 0.5 to 1
  const double steps = std::ldexp(1., significant_bits);
  return at::ldexp(at::ceil(mantissa * (steps * (1 - kMayBeMissing))) / steps, exponent);
}

at::Tensor spread_over(const at::Tensor& per_scale, const at::Tensor& x, const QuantSpec& spec) {
  if (per_scale.dim() == 0) return per_scale;
  if (per_scale.dim() == 1) {
    std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
    shape[static_cast<size_t>(std::min(spec.channel_axis, x.dim() - 1))] = -1;
    return per_scale.view(shape);
  }
  at::Tensor each = per_scale.repeat_interleave(spec.group_size, 1);  // a number for each input
  while (each.dim() < x.dim()) each = each.unsqueeze(-1);
  return each;
}

}  // namespace sparsebit::quant
