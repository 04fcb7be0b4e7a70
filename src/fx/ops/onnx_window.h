#pragma once

#include <algorithm>
#include <cstdint>

namespace sparsebit::fx {

/// Padding of one axis, in elements.
struct AxisPadding {
  int64_t begin, end;
};

/// Splits the padding of an axis; an odd element goes to the end for SAME_UPPER.
inline AxisPadding split_padding(int64_t total, bool upper) {
  const int64_t begin = upper ? total / 2 : total - total / 2;
  return {begin, total - begin};
}

/// Padding for ONNX's SAME_UPPER and SAME_LOWER: the output size is ceil(size / stride).
/// @param reach  from the first to the last element of a window
inline AxisPadding same_padding(int64_t size, int64_t reach, int64_t stride, bool upper) {
  const int64_t steps = (size + stride - 1) / stride;
  return split_padding(std::max<int64_t>((steps - 1) * stride + reach - size, 0), upper);
}

}  // namespace sparsebit::fx
