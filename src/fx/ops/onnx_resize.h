#pragma once

#include <cmath>
#include <cstdint>

namespace sparsebit::fx {

/// The size of a resized axis. In float32, as ONNX's own shape inference and runtimes compute it:
/// 5 times 1.4 is 7 there, and a little less than 7 with more digits.
inline double resized(int64_t size, double scale) {
  return std::floor(static_cast<float>(size) * static_cast<float>(scale));
}

}  // namespace sparsebit::fx
