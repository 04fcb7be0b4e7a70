#pragma once

#include <cstdint>
#include <utility>

namespace sparsebit::quant {

/// The smallest and the largest of at least one number; both are NaN when one of them is.
std::pair<float, float> bounds_of(const float* numbers, int64_t count);

/// What count_numbers() has seen.
struct Seen {
  bool finite;         ///< if not, the rest says nothing
  float low, high;     ///< the smallest and the largest number
  uint32_t magnitude;  ///< bits of the smallest magnitude above zero, or more than any number's
};

/// Adds `step` to counts[bits of number >> shift] for each of at least one number. Zeros and minus
/// zeros go to counts[zeros] to counts[zeros + kZeroSlots - 1] in turn: there are many of them, and
/// a processor waits for a count before it adds to the same one again.
inline constexpr int64_t kZeroSlots = 8;
Seen count_numbers(const float* numbers, int64_t count, int shift, uint32_t* counts, uint32_t zeros,
                   uint32_t step = 1);

}  // namespace sparsebit::quant
