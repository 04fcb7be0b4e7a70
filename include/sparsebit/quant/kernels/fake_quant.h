#pragma once

#include "sparsebit/quant/spec/qparams.h"

#include <ATen/core/Tensor.h>

namespace sparsebit::quant {

/// Quantizes and dequantizes x:
///
///     q      = clamp(round(x / scale) + round(zero_point), qmin, qmax)
///     result = (q - round(zero_point)) * scale
///
/// Rounds half to even. The result has the type and memory layout of x; NaN stays NaN. The gradient
/// of x is the straight-through estimator: 1 where q was not clamped, else 0. Scale and zero_point
/// get gradients if they require them. Results do not depend on the number of threads.
///
/// Throws InvalidArgument if the shapes of x and the parameters do not match.
at::Tensor fake_quant(const at::Tensor& x, const QParams& qparams, const QuantSpec& spec);

/// The integers q, as int32.
at::Tensor quantize(const at::Tensor& x, const QParams& qparams, const QuantSpec& spec);

/// A slow reference implementation of fake_quant() with ATen operators, for tests.
at::Tensor fake_quant_reference(const at::Tensor& x, const QParams& qparams, const QuantSpec& spec);

}  // namespace sparsebit::quant
