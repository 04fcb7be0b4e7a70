#pragma once

#include <cstdint>
#include <utility>

namespace sparsebit::quant {

/// Minimum and maximum of at least one number; both are NaN if a number is NaN.
std::pair<float, float> bounds_of(const float* numbers, int64_t count);

/// Result of count_numbers().
struct Seen {
  bool finite;         ///< if false, the other members are meaningless
  float low, high;     ///< minimum and maximum
  uint32_t magnitude;  ///< bits of the smallest magnitude above zero; ~0u if all are zero
};

/// Adds `step` to counts[bits of number >> shift] for each of at least one number. Zeros and minus
/// zeros go to counts[zeros] to counts[zeros + kZeroSlots - 1] in turn: zeros are frequent, and
/// consecutive additions to the same count would stall the processor.
inline constexpr int64_t kZeroSlots = 8;
Seen count_numbers(const float* numbers, int64_t count, int shift, uint32_t* counts, uint32_t zeros,
                   uint32_t step = 1);

}  // namespace sparsebit::quant
