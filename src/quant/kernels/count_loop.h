#pragma once

#include <cstdint>
#include <utility>

namespace sparsebit::quant {

/// The smallest and the largest of at least one number; both are NaN when one of them is.
std::pair<float, float> bounds_of(const float* numbers, int64_t count);

/// Adds 1 to counts[bits of number >> shift] for each number.
void count_numbers(const float* numbers, int64_t count, int shift, int64_t* counts);

}  // namespace sparsebit::quant
