#pragma once

#include "sparsebit/fx/ops/operator.h"

#include <ATen/core/Tensor.h>

#include <vector>

// What the operators spelled `onnx.Name` share: they take tensors where torch takes numbers, and
// element types as ONNX numbers them.

namespace sparsebit::fx::onnx_args {

/// The type ONNX numbers so (1 = float, 2 = uint8, ...). Throws InvalidArgument for types that
/// libtorch does not have.
at::ScalarType dtype(const Args& a, const char* name);

/// A list of ints, or the content of a tensor of integers with at most one axis; empty for none.
std::vector<int64_t> ints(const Args& a, const char* name);

/// An int, or a tensor of integers with one element.
int64_t integer(const Args& a, const char* name);

/// `axis` counted from the front. Throws InvalidArgument when there is no such axis.
int64_t wrapped_axis(int64_t axis, int64_t rank);

}  // namespace sparsebit::fx::onnx_args
