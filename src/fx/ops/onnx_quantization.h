#pragma once

#include <ATen/core/Tensor.h>

namespace sparsebit::fx {

/// Rounded numbers as integers of 8 or 16 bits, clamped to the range of the type.
at::Tensor saturated(const at::Tensor& x, at::ScalarType dtype);

/// One value for all of `x`, or one for each position along an axis of it, in a shape that
/// broadcasts with it. Throws InvalidArgument, naming `name`, when it does not fit.
at::Tensor along_axis(const at::Tensor& values, const at::Tensor& x, int64_t axis,
                      const char* name);

}  // namespace sparsebit::fx
