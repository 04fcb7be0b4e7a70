#pragma once

#include "sparsebit/fx/ops/schema.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace sparsebit::fx {

/// Ints that an ONNX operator takes as an input: a tensor that is computed, or a list of ints when
/// they are known or come from shape arithmetic.
std::vector<int64_t> int_input(const Args& a, std::string_view name);

/// A number that an ONNX operator takes as an input: a tensor with one element, or a number.
double number_input(const Args& a, std::string_view name, double otherwise);

/// Axes counted from the front, each at most once.
std::vector<int64_t> wrap_axes(std::vector<int64_t> axes, int64_t rank);

/// The dims that a reduction along these axes reduces, in ascending order, each once; all dims for
/// empty `axes`.
std::vector<int64_t> reduced_dims(const std::vector<int64_t>& axes, int64_t rank);

/// Indices counted from the front. Throws InvalidArgument when one is out of range for an axis
/// with `size` elements.
at::Tensor wrap_indices(const at::Tensor& indices, int64_t size);

}  // namespace sparsebit::fx
