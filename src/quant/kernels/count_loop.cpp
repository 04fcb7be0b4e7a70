#include "quant/kernels/count_loop.h"

#include "quant/kernels/for_each_cpu.h"

#include <bit>
#include <limits>

namespace sparsebit::quant {

SPARSEBIT_FOR_EACH_CPU
std::pair<float, float> bounds_of(const float* numbers, int64_t count) {
  constexpr int64_t kLanes = 32;
  float low[kLanes], high[kLanes];
  int32_t nan[kLanes] = {};
  for (int64_t k = 0; k < kLanes; ++k) low[k] = high[k] = numbers[0];
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const float number = numbers[i + k];
      low[k] = number < low[k] ? number : low[k];
      high[k] = number > high[k] ? number : high[k];
      nan[k] |= number != number;
    }
  }
  for (; i < count; ++i) {
    low[0] = numbers[i] < low[0] ? numbers[i] : low[0];
    high[0] = numbers[i] > high[0] ? numbers[i] : high[0];
    nan[0] |= numbers[i] != numbers[i];
  }
  for (int64_t k = 1; k < kLanes; ++k) {
    low[0] = low[k] < low[0] ? low[k] : low[0];
    high[0] = high[k] > high[0] ? high[k] : high[0];
    nan[0] |= nan[k];
  }
  const float none = std::numeric_limits<float>::quiet_NaN();
  return nan[0] ? std::pair(none, none) : std::pair(low[0], high[0]);
}

void count_numbers(const float* numbers, int64_t count, int shift, int64_t* counts, int64_t* twin,
                   int64_t step) {
  constexpr int64_t kRun = 1024;
  uint32_t keys[kRun];
  for (int64_t start = 0; start < count; start += kRun) {
    const int64_t size = count - start < kRun ? count - start : kRun;
    for (int64_t i = 0; i < size; ++i)
      keys[i] = std::bit_cast<uint32_t>(numbers[start + i] + 0.f) >> shift;
    int64_t i = 0;
    for (; i + 2 <= size; i += 2) {
      counts[keys[i]] += step;
      twin[keys[i + 1]] += step;
    }
    if (i < size) counts[keys[i]] += step;
  }
}

}  // namespace sparsebit::quant
