#pragma once

#include <cstdint>

namespace sparsebit {

/// Unpacked bytes for each packed one that deflate (zip, gzip, PNG) can reach: two bits repeat 258
/// bytes. A file that states more is damaged.
inline constexpr uint64_t kMostInflated = 1032;

}  // namespace sparsebit
