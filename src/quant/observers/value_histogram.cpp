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
constexpr uint32_t kInfinity = 0x7f800000u;
constexpr int64_t kMostRecent = 0xffffffff;  // numbers that short counts can count

}  // namespace

/// Zeroed memory of this size is not there until it is touched, unlike that of a vector.
template <class Number>
ValueHistogram::Table<Number> ValueHistogram::zeros(size_t size) {
  Table<Number> table(static_cast<Number*>(std::calloc(size, sizeof(Number))));
  if (!table) throw std::bad_alloc();
  return table;
}

ValueHistogram::ValueHistogram(int mantissa_bits) : mantissa_bits_(mantissa_bits) {
  SPARSEBIT_CHECK(mantissa_bits >= 4 && mantissa_bits <= 12, InvalidArgument,
                  "a histogram has 4 to 12 bits of the mantissa, not ", mantissa_bits);
  counts_ = zeros<uint32_t>(size() + kZeroSlots);
}

ValueHistogram::ValueHistogram(const ValueHistogram& other) : ValueHistogram(other.mantissa_bits_) {
  merge(other);
}

bool ValueHistogram::add(const float* numbers, int64_t count) {
  constexpr int64_t kPiece = 8192;  // stays in the first cache between the two loops
  const auto [low_before, high_before] = std::pair(low_, high_);
  const int shift = kMantissa - mantissa_bits_;
  if (recent_ + count > kMostRecent) settle();
  recent_ += count;
  for (int64_t start = 0; start < count; start += kPiece) {
    const int64_t piece = std::min(kPiece, count - start);
    const auto [low, high] = bounds_of(numbers + start, piece);
    if (!std::isfinite(low) || !std::isfinite(high)) {
      count_numbers(numbers, start, shift, counts_.get(), static_cast<uint32_t>(size()), ~0u);
      count_ -= start;
      std::tie(low_, high_) = std::pair(low_before, high_before);
      return false;
    }
    low_ = count_ == 0 ? low : std::min(low_, low);
    high_ = count_ == 0 ? high : std::max(high_, high);
    count_numbers(numbers + start, piece, shift, counts_.get(), static_cast<uint32_t>(size()));
    count_ += piece;
  }
  return true;
}

int64_t ValueHistogram::count_at(size_t key) const {
  int64_t count = int64_t{counts_[key]} + (settled_ ? settled_[key] : 0);
  if (key > 0) return count;
  for (size_t slot = size(); slot < size() + kZeroSlots; ++slot) count += counts_[slot];
  return count;
}

/// Recent counts are short, so that more of them are near the processor.
void ValueHistogram::settle() {
  if (!settled_) settled_ = zeros<int64_t>(size());
  for (size_t i = 0; i < size() + kZeroSlots; ++i) {
    if (counts_[i] == 0) continue;  // no page is touched for nothing
    settled_[i < size() ? i : 0] += counts_[i];
    counts_[i] = 0;
  }
  recent_ = 0;
}

void ValueHistogram::merge(const ValueHistogram& other) {
  SPARSEBIT_CHECK(mantissa_bits_ == other.mantissa_bits_, InvalidArgument,
                  "histograms of different bins cannot be merged");
  if (other.count_ == 0) return;
  low_ = count_ == 0 ? other.low_ : std::min(low_, other.low_);
  high_ = count_ == 0 ? other.high_ : std::max(high_, other.high_);
  count_ += other.count_;
  if (!settled_) settled_ = zeros<int64_t>(size());
  for (size_t i = 0; i < size(); ++i) {
    if (const int64_t more = other.count_at(i); more > 0) settled_[i] += more;
  }
}

std::vector<ValueHistogram::Bin> ValueHistogram::bins() const {
  const int shift = kMantissa - mantissa_bits_;
  const uint32_t half = kInfinity >> shift;  // keys of finite numbers of one sign
  const auto magnitude = [&](uint32_t key) {
    return static_cast<double>(std::bit_cast<float>(key << shift));
  };
  std::vector<Bin> bins;
  const auto add = [&](double low, double high, int64_t count) {
    bins.push_back(
        {std::clamp<double>(low, low_, high_), std::clamp<double>(high, low_, high_), count});
  };
  for (uint32_t key = half; key-- > 0;) {
    const int64_t count = count_at(key | (kSign >> shift));
    if (count > 0) add(-magnitude(key + 1), -magnitude(key), count);
  }
  for (uint32_t key = 0; key < half; ++key) {
    if (const int64_t count = count_at(key); count > 0)
      add(magnitude(key), magnitude(key + 1), count);
  }
  return bins;
}

}  // namespace sparsebit::quant
