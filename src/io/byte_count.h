#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace sparsebit::io {

/// The size in bytes of a tensor with an untrusted shape. Returns nullopt on overflow of 64 bits,
/// also if it would only overflow with sizes of 0 replaced by 1: libtorch computes strides that
/// way.
/// @param item  bytes per element.
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
