#include "sparsebit/quant/spec/qparams.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

namespace sparsebit::quant {

QParams qparams_from_range(const at::Tensor& low, const at::Tensor& high, const QuantSpec& spec) {
  const at::Tensor lo = low.to(at::kFloat).clamp_max(0), hi = high.to(at::kFloat).clamp_min(0);
  SPARSEBIT_CHECK(at::isfinite(hi - lo).all().item<bool>(), InvalidArgument,
                  "the range of values is not finite: check the data for NaN and infinity");
  const double steps = static_cast<double>(spec.qmax() - spec.qmin());
  if (spec.is_symmetric()) {
    const at::Tensor width = spec.is_signed_symmetric() ? 2 * at::maximum(-lo, hi) : hi;
    const at::Tensor scale = rounded_scale(width / steps, spec);
    return {scale, at::zeros_like(scale)};
  }
  const at::Tensor scale = rounded_scale((hi - lo) / steps, spec);
  return {scale, (at::round(-lo / scale) + spec.qmin()).clamp(spec.qmin(), spec.qmax())};
}

at::Tensor rounded_scale(const at::Tensor& scale, const QuantSpec& spec) {
  const at::Tensor least = scale.to(at::kFloat).clamp_min(kLeastScale);
  if (!spec.pot_scale) return rounded_up(least, spec.scale_bits);
  at::Tensor powers = least.clone(at::MemoryFormat::Contiguous);
  const std::span<float> numbers(powers.data_ptr<float>(), static_cast<size_t>(powers.numel()));
  for (float& number : numbers) number = static_cast<float>(nearest_power_of_two(number));
  return powers;
}

double nearest_power_of_two(double x) {
  int exponent = 0;
  const bool is_below = std::frexp(x, &exponent) < std::numbers::sqrt2 / 2;  // frexp: 0.5 to 1
  return std::ldexp(1., is_below ? exponent - 1 : exponent);
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
  at::Tensor each = per_scale.repeat_interleave(spec.group_size, 1);  // one value per input
  while (each.dim() < x.dim()) each = each.unsqueeze(-1);
  return each;
}

}  // namespace sparsebit::quant
