#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace sparsebit::io {

/// Bytes of a tensor whose sizes a file tells. Nothing when they overflow 64 bits, or would if no
/// size were 0: libtorch multiplies the strides so.
/// @param item  bytes of an element.
inline std::optional<int64_t> byte_count(std::span<const int64_t> shape, int64_t item) {
  int64_t spread = item;
  bool empty = false;
  for (const int64_t size : shape) {
    empty |= size == 0;
    if (__builtin_mul_overflow(spread, std::max<int64_t>(size, 1), &spread)) return std::nullopt;
  }
  return empty ? 0 : spread;
}

}  // namespace sparsebit::io
