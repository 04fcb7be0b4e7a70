#pragma once

#include "sparsebit/quant/spec/quant_spec.h"

#include <ATen/core/Tensor.h>

namespace sparsebit::quant {

/// Scale and zero point: x is approximately (q - zero_point) * scale.
///
/// Both are float32 of the same shape: [] per tensor, [channels] per channel, [channels, groups]
/// for groups. QuantSpec::channel_axis is their axis in the tensor.
struct QParams {
  at::Tensor scale;
  at::Tensor zero_point;
};

/// The smallest scale, so that dividing by it is safe.
inline constexpr double kLeastScale = 1e-6;

/// The parameters for values from `low` to `high`, a range that is widened to contain 0:
///
///     symmetric   scale = 2 * max(-low, high) / (qmax - qmin)    zero_point = 0
///     unsigned    scale = high / qmax                            zero_point = 0
///     affine      scale = (high - low) / (qmax - qmin)   zero_point = qmin + round(-low / scale)
///
/// "Unsigned" are symmetric integers with qmin = 0; negative values are clipped to 0. Scales are
/// rounded by rounded_scale(). Throws InvalidArgument if a bound is not finite.
QParams qparams_from_range(const at::Tensor& low, const at::Tensor& high, const QuantSpec& spec);

/// Rounds scales to those that a spec allows: at least kLeastScale, and rounded_up() to
/// `spec.scale_bits` or, with `spec.pot_scale`, the nearest_power_of_two().
at::Tensor rounded_scale(const at::Tensor& scale, const QuantSpec& spec);

/// 2^round(log2 x), x > 0.
double nearest_power_of_two(double x);

/// Tolerance of rounded_up(): the result may be smaller than the scale by this relative amount.
inline constexpr double kMayBeMissing = 1. / 128;

/// Rounds scales up to this many significant bits, or down if they exceed the lower neighbour by
/// less than kMayBeMissing; 0 bits: unchanged.
at::Tensor rounded_up(const at::Tensor& scale, int significant_bits);

/// Reshapes values that are given per scale so that they broadcast against x.
at::Tensor spread_over(const at::Tensor& per_scale, const at::Tensor& x, const QuantSpec& spec);

}  // namespace sparsebit::quant
