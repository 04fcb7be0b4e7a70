#pragma once

#include "sparsebit/quant/spec/qparams.h"

#include <ATen/core/Tensor.h>

namespace sparsebit::quant {

/// What is left of x when it is stored as integers:
///
///     q      = clamp(round(x / scale) + round(zero_point), qmin, qmax)
///     result = (q - round(zero_point)) * scale
///
/// Rounds half to even. The result has the type and memory layout of x; NaN stays NaN. Gradients go
/// straight through where q was not clamped; scale and zero_point get theirs if they require them.
/// The numbers do not depend on the number of threads.
///
/// Throws InvalidArgument when the shapes of x and the parameters do not go together.
at::Tensor fake_quant(const at::Tensor& x, const QParams& qparams, const QuantSpec& spec);

/// The integers q themselves, as int32.
at::Tensor quantize(const at::Tensor& x, const QParams& qparams, const QuantSpec& spec);

/// fake_quant() by one ATen operator after the other: slow, and what the fast one is compared with.
at::Tensor fake_quant_reference(const at::Tensor& x, const QParams& qparams, const QuantSpec& spec);

}  // namespace sparsebit::quant
