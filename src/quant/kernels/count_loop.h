#pragma once

#include <cstdint>
#include <utility>

namespace sparsebit::quant {

/// The smallest and the largest of at least one number; both are NaN when one of them is.
std::pair<float, float> bounds_of(const float* numbers, int64_t count);

/// Adds `step` to counts[bits of number >> shift] for each number. Minus zero is zero. There are
/// two tables to be added up, `counts` and `twin`: neighbours are often equal, and a processor
/// waits for a count before it adds to the same one again.
void count_numbers(const float* numbers, int64_t count, int shift, uint32_t* counts, uint32_t* twin,
                   uint32_t step = 1);

}  // namespace sparsebit::quant
