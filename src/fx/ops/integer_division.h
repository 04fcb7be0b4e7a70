#pragma once

#include "fx/ops/operand.h"

#include <c10/util/string_view.h>

namespace sparsebit::fx {

// Division of libtorch ends the whole process for the smallest integer by -1, where the machine
// traps. These are the same functions with the result that negation has there: it wraps around.
// Integers divided by zero are an error, as in libtorch.

/// `x / y`, rounded: "trunc" or "floor".
at::Tensor rounded_quotient(const at::Tensor& x, const at::Tensor& y, c10::string_view rounding);
/// The rest of the quotient that is rounded down; it has the sign of `y`.
at::Tensor floor_remainder(const at::Tensor& x, const at::Tensor& y);
/// The rest of the quotient that is rounded towards zero; it has the sign of `x`.
at::Tensor trunc_remainder(const at::Tensor& x, const at::Tensor& y);

/// Whether libtorch's own functions must not be called: both are integers and `y` has a -1.
bool division_may_trap(const at::Tensor& x, const at::Tensor& y);

/// elementwise() for one of these functions and libtorch's own that works in place.
Kernel division(TensorBinary pure, TensorBinaryInplace inplace, PlainBinary plain = nullptr);

}  // namespace sparsebit::fx
