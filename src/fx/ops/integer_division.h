#pragma once

#include "fx/ops/operand.h"

#include <c10/util/string_view.h>

namespace sparsebit::fx {

// In libtorch, dividing the smallest integer by -1 raises SIGFPE, which ends the process. These
// functions wrap around in that case, as negation does. Integer division by zero is an error, as in
// libtorch.

/// `x / y`, rounded: "trunc" or "floor".
at::Tensor rounded_quotient(const at::Tensor& x, const at::Tensor& y, c10::string_view rounding);
/// The remainder of the quotient rounded down; it has the sign of `y`.
at::Tensor floor_remainder(const at::Tensor& x, const at::Tensor& y);
/// The remainder of the quotient rounded towards zero; it has the sign of `x`.
at::Tensor trunc_remainder(const at::Tensor& x, const at::Tensor& y);

/// Whether libtorch's own functions must not be called: both are integers and `y` has a -1.
bool division_may_trap(const at::Tensor& x, const at::Tensor& y);

/// elementwise() for one of these functions and libtorch's in-place function.
Kernel division(TensorBinary pure, TensorBinaryInplace inplace, PlainBinary plain = nullptr);

}  // namespace sparsebit::fx
