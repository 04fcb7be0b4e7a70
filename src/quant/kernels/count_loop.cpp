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

SPARSEBIT_FOR_EACH_CPU
void count_numbers(const float* numbers, int64_t count, int shift, uint32_t* counts, uint32_t zeros,
                   uint32_t step) {
  constexpr int64_t kRun = 1024;
  uint32_t keys[kRun];
  for (int64_t start = 0; start < count; start += kRun) {
    const int64_t size = count - start < kRun ? count - start : kRun;
    for (int64_t i = 0; i < size; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(numbers[start + i] + 0.f);
      const uint32_t slot = zeros + static_cast<uint32_t>(i) % kZeroSlots;
      keys[i] = bits == 0 ? slot : bits >> shift;
    }
    int64_t i = 0;
    for (; i + 4 <= size; i += 4) {
      const uint32_t a = keys[i], b = keys[i + 1], c = keys[i + 2], d = keys[i + 3];
      counts[a] += step;
      counts[b] += step;
      counts[c] += step;
      counts[d] += step;
    }
    for (; i < size; ++i) counts[keys[i]] += step;
  }
}

}  // namespace sparsebit::quant
