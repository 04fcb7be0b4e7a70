#pragma once

#include <algorithm>
#include <cstdint>

namespace sparsebit::fx {

/// Padding of one axis, in elements.
struct AxisPadding {
  int64_t begin, end;
};

/// Splits what an axis needs; the odd one goes to the end for SAME_UPPER.
inline AxisPadding split_padding(int64_t total, bool upper) {
  const int64_t begin = upper ? total / 2 : total - total / 2;
  return {begin, total - begin};
}

/// What ONNX's SAME_UPPER and SAME_LOWER stand for: a window then takes one step for every `stride`
/// elements begun.
/// @param reach  from the first to the last element of a window
inline AxisPadding same_padding(int64_t size, int64_t reach, int64_t stride, bool upper) {
  const int64_t steps = (size + stride - 1) / stride;
  return split_padding(std::max<int64_t>((steps - 1) * stride + reach - size, 0), upper);
}

}  // namespace sparsebit::fx
