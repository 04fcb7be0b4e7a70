#include "sparsebit/quant/observers/value_histogram.h"

#include "quant/kernels/count_loop.h"

#include "sparsebit/core/error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <tuple>

namespace sparsebit::quant {
namespace {

constexpr int kMantissa = 23;  // bits of a float32
constexpr uint32_t kSign = 0x80000000u;
constexpr int64_t kMostRecent = 0xffffffff;  // maximum of the 32-bit counts

}  // namespace

/// calloc(): the system allocates pages when they are touched, unlike with a vector.
template <class Number>
ValueHistogram::Table<Number> ValueHistogram::zeros(size_t size) {
  Table<Number> table(static_cast<Number*>(std::calloc(size, sizeof(Number))));
  if (!table) throw std::bad_alloc();
  return table;
}

ValueHistogram::ValueHistogram(int mantissa_bits) : mantissa_bits_(mantissa_bits) {
  SPARSEBIT_CHECK(mantissa_bits >= 4 && mantissa_bits <= 12, InvalidArgument,
                  "expected 4 to 12 mantissa bits, found ", mantissa_bits);
  counts_ = zeros<uint32_t>(size() + kZeroSlots);
}

ValueHistogram::ValueHistogram(const ValueHistogram& other) : ValueHistogram(other.mantissa_bits_) {
  merge(other);
}

bool ValueHistogram::add(const float* numbers, int64_t count) {
  if (count == 0) return true;
  if (recent_ + count > kMostRecent) settle();
  const int shift = kMantissa - mantissa_bits_;
  const auto zeros = static_cast<uint32_t>(size());
  const Seen seen = count_numbers(numbers, count, shift, counts_.get(), zeros);
  if (!seen.finite) {
    count_numbers(numbers, count, shift, counts_.get(), zeros, ~0u);
    return false;
  }
  low_ = count_ == 0 ? seen.low : std::min(low_, seen.low);
  high_ = count_ == 0 ? seen.high : std::max(high_, seen.high);
  least_key_ = std::min(least_key_, seen.magnitude >> shift);
  recent_ += count;
  count_ += count;
  return true;
}

inline int64_t ValueHistogram::count_at(size_t key) const {
  return int64_t{counts_[key]} + (settled_ ? settled_[key] : 0);
}

int64_t ValueHistogram::zeros_counted() const {
  int64_t count = count_at(0);
  for (size_t slot = size(); slot < size() + kZeroSlots; ++slot) count += counts_[slot];
  return count;
}

/// Moves the 32-bit counts to the 64-bit ones. Short counts use the processor's cache better.
void ValueHistogram::settle() {
  if (!settled_) settled_ = zeros<int64_t>(size());
  for (size_t i = 0; i < size() + kZeroSlots; ++i) {
    if (counts_[i] == 0) continue;  // does not touch unused pages
    settled_[i < size() ? i : 0] += counts_[i];
    counts_[i] = 0;
  }
  recent_ = 0;
}

void ValueHistogram::merge(const ValueHistogram& other) {
  SPARSEBIT_CHECK(mantissa_bits_ == other.mantissa_bits_, InvalidArgument,
                  "histograms with different bins cannot be merged");
  if (other.count_ == 0) return;
  low_ = count_ == 0 ? other.low_ : std::min(low_, other.low_);
  high_ = count_ == 0 ? other.high_ : std::max(high_, other.high_);
  count_ += other.count_;
  if (!settled_) settled_ = zeros<int64_t>(size());
  least_key_ = std::min(least_key_, other.least_key_);
  settled_[0] += other.zeros_counted();
  for (size_t i = 1; i < size(); ++i) {
    if (const int64_t more = other.count_at(i); more > 0) settled_[i] += more;
  }
}

std::vector<ValueHistogram::Bin> ValueHistogram::bins() const {
  const int shift = kMantissa - mantissa_bits_;
  const auto key_of = [&](float number) { return std::bit_cast<uint32_t>(number) >> shift; };
  const auto magnitude = [&](uint32_t key) {
    return static_cast<double>(std::bit_cast<float>(key << shift));
  };
  std::vector<Bin> bins;
  const auto add = [&](double low, double high, int64_t count) {
    bins.push_back(
        {std::clamp<double>(low, low_, high_), std::clamp<double>(high, low_, high_), count});
  };
  if (low_ < 0) {
    for (uint32_t key = key_of(-low_) + 1; key-- > least_key_;) {
      if (const int64_t count = count_at(key | (kSign >> shift)); count > 0)
        add(-magnitude(key + 1), -magnitude(key), count);
    }
  }
  if (const int64_t count = zeros_counted(); count > 0) add(0, magnitude(1), count);
  if (high_ > 0) {
    for (uint32_t key = std::max(least_key_, 1u); key <= key_of(high_); ++key) {
      if (const int64_t count = count_at(key); count > 0)
        add(magnitude(key), magnitude(key + 1), count);
    }
  }
  return bins;
}

}  // namespace sparsebit::quant
