// Connects g++'s coverage instrumentation to libFuzzer, which expects clang's: every instrumented
// block calls __sanitizer_cov_trace_pc(), which increments one of libFuzzer's counters. This file
// itself is compiled without instrumentation.

#include <array>
#include <cstddef>
#include <cstdint>

extern "C" {
void __sanitizer_cov_8bit_counters_init(uint8_t* begin, uint8_t* end);
void __sanitizer_cov_pcs_init(const uintptr_t* begin, const uintptr_t* end);
void __sanitizer_cov_trace_pc();
void __sanitizer_cov_trace_cmpf(float a, float b);
void __sanitizer_cov_trace_cmpd(double a, double b);
}

namespace {

constexpr size_t kCounters = size_t{1} << 17;
std::array<uint8_t, kCounters> counters;
std::array<uintptr_t, 2 * kCounters> addresses;  // pairs of address and flags

[[gnu::constructor]] void register_counters() {
  for (size_t i = 0; i < kCounters; ++i) addresses[2 * i] = i + 1;
  __sanitizer_cov_8bit_counters_init(counters.data(), counters.data() + counters.size());
  __sanitizer_cov_pcs_init(addresses.data(), addresses.data() + addresses.size());
}

}  // namespace

void __sanitizer_cov_trace_pc() {
  // Relative to this function, so that a block keeps its counter from run to run.
  const auto here = reinterpret_cast<uintptr_t>(&__sanitizer_cov_trace_pc);
  const uintptr_t block = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) - here;
  constexpr uintptr_t kMix = 0x9E3779B97F4A7C15;  // spreads neighbouring addresses
  ++counters[(block * kMix) >> 47];               // 64 - 47 bits number the counters
}

// g++ reports comparisons of floats as well, which libFuzzer does not use.
void __sanitizer_cov_trace_cmpf(float, float) {}
void __sanitizer_cov_trace_cmpd(double, double) {}
