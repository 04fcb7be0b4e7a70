#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace sparsebit::quant {

/// A histogram with fixed bins: one bin holds all floats with the same sign, exponent and leading
/// bits of the mantissa. Hence counts do not depend on the order or size of batches, histograms are
/// merged by addition, and bins have the same relative width for values of any magnitude.
///
/// Uses memory only for bins in use, because the system allocates pages when they are touched.
class ValueHistogram {
 public:
  /// @param mantissa_bits  4 to 12. The relative width of a bin is 2^-mantissa_bits.
  explicit ValueHistogram(int mantissa_bits = kFine);
  ValueHistogram(const ValueHistogram& other);
  ValueHistogram(ValueHistogram&&) = default;
  ValueHistogram& operator=(ValueHistogram&&) = default;

  static constexpr int kFiner = 10;  ///< bins of 0.1 %
  static constexpr int kFine = 9;    ///< bins of 0.2 %
  static constexpr int kCoarse = 8;  ///< bins of 0.4 %, to save memory if there are many histograms

  /// Returns false and counts nothing if one of the numbers is not finite.
  bool add(const float* numbers, int64_t count);
  void merge(const ValueHistogram& other);  ///< with the same mantissa bits

  int64_t count() const { return count_; }
  /// The exact minimum and maximum of the numbers.
  float low() const { return low_; }
  float high() const { return high_; }

  /// Numbers from `low` to `high`, assumed to be evenly distributed.
  struct Bin {
    double low, high;
    int64_t count;

    double middle() const { return (low + high) / 2; }
  };
  /// The bins that are not empty, in ascending order, clipped to low() and high().
  std::vector<Bin> bins() const;

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  template <class Number>
  using Table = std::unique_ptr<Number[], Free>;
  template <class Number>
  static Table<Number> zeros(size_t size);

  void settle();
  size_t size() const { return size_t{1} << (9 + mantissa_bits_); }  // sign and exponent: 9 bits

  int64_t count_at(size_t key) const;  // without the slots for zeros
  int64_t zeros_counted() const;       // the slots for zeros and the bin of zero

  int mantissa_bits_;
  Table<uint32_t> counts_;  // since the last settle(), and slots for zeros, see count_numbers()
  Table<int64_t> settled_;  // before the last settle(); null if there was none
  int64_t recent_ = 0;
  uint32_t least_key_ = ~0u;  // smallest key above zero: pages below it are not read
  int64_t count_ = 0;
  float low_ = 0, high_ = 0;
};

}  // namespace sparsebit::quant
