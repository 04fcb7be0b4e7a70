#pragma once

#include "sparsebit/quant/spec/quant_spec.h"

#include <ATen/core/Tensor.h>

namespace sparsebit::quant {

/// The numbers that turn a tensor into integers and back: x is about (q - zero_point) * scale.
///
/// Both are float32 of the same shape: [] per tensor, [channels] per channel, [channels, groups]
/// for groups. What axis they belong to is said by the QuantSpec.
struct QParams {
  at::Tensor scale;
  at::Tensor zero_point;
};

/// No scale is smaller, so that dividing by it is safe.
inline constexpr double kLeastScale = 1e-6;

/// For values between `low` and `high`, which are widened to contain 0:
///
///     symmetric   scale = 2 * max(-low, high) / (qmax - qmin)    zero_point = 0
///     unsigned    scale = high / qmax                            zero_point = 0
///     affine      scale = (high - low) / (qmax - qmin)   zero_point = qmin + round(-low / scale)
///
/// "Unsigned" are symmetric integers from 0 on, which negative values are cut off to. Scales are
/// rounded_scale()s. Throws InvalidArgument when a bound is not finite.
QParams qparams_from_range(const at::Tensor& low, const at::Tensor& high, const QuantSpec& spec);

/// The scales that a spec allows: kLeastScale at least, and rounded_up() to `spec.scale_bits` or,
/// with `spec.pot_scale`, the nearest_power_of_two().
at::Tensor rounded_scale(const at::Tensor& scale, const QuantSpec& spec);

/// 2^round(log2 x), x > 0.
double nearest_power_of_two(double x);

/// A scale is not rounded up if it is larger by less than this share.
inline constexpr double kMayBeMissing = 1. / 128;

/// The next larger scales with so few significant bits, or those right below, see kMayBeMissing; 0
/// bits: the scales as they are.
at::Tensor rounded_up(const at::Tensor& scale, int significant_bits);

/// Scales, or numbers that go with them, in a shape that broadcasts against x.
at::Tensor spread_over(const at::Tensor& per_scale, const at::Tensor& x, const QuantSpec& spec);

}  // namespace sparsebit::quant
