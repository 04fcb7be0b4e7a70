#include "quant/kernels/count_loop.h"

#include "quant/kernels/for_each_cpu.h"

#include <bit>
#include <limits>

namespace sparsebit::quant {
namespace {

constexpr uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u;

/// Minimum and maximum of floats by their bits: integer operations are vectorized by compilers. As
/// unsigned integers, negative floats are above positive ones, and larger magnitudes are larger.
struct BitBounds {
  uint32_t least = ~0u, most = 0;
  int32_t most_signed = INT32_MIN;
  uint32_t least_magnitude = ~0u;  // minus 1, so that zero wraps around and is ignored

  inline __attribute__((always_inline)) void add(uint32_t bits) {
    least = bits < least ? bits : least;
    most = bits > most ? bits : most;
    const int32_t with_sign = static_cast<int32_t>(bits);
    most_signed = with_sign > most_signed ? with_sign : most_signed;
    const uint32_t magnitude = (bits & ~kSign) - 1;
    least_magnitude = magnitude < least_magnitude ? magnitude : least_magnitude;
  }

  Seen found() const {
    const bool some_negative = most >= kSign, some_positive = most_signed >= 0;
    const uint32_t high = some_positive ? static_cast<uint32_t>(most_signed) : least;
    const uint32_t low = some_negative ? most : least;
    const bool finite = (low & ~kSign) < kInfinity && (high & ~kSign) < kInfinity;
    const uint32_t magnitude = least_magnitude == ~0u ? ~0u : least_magnitude + 1;
    return {finite, std::bit_cast<float>(low), std::bit_cast<float>(high), magnitude};
  }
};

}  // namespace

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
Seen count_numbers(const float* numbers, int64_t count, int shift, uint32_t* counts, uint32_t zeros,
                   uint32_t step) {
  constexpr int64_t kRun = 1024;
  uint32_t keys[kRun];
  BitBounds seen;
  for (int64_t start = 0; start < count; start += kRun) {
    const int64_t size = count - start < kRun ? count - start : kRun;
    for (int64_t i = 0; i < size; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(numbers[start + i] + 0.f);
      const uint32_t slot = zeros + static_cast<uint32_t>(i) % kZeroSlots;
      keys[i] = bits == 0 ? slot : bits >> shift;
      seen.add(bits);
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
  return seen.found();
}

}  // namespace sparsebit::quant
