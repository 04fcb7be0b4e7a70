#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace sparsebit::quant {

/// How often which numbers occur, in bins that are fixed before the first number is seen: all
/// floats with the same sign, exponent and first bits of the mantissa. So the counts depend on
/// neither the order nor the size of batches, two histograms are merged by adding, and the bins are
/// narrow wherever the numbers are, be they 1e-6 or 1e6.
///
/// Takes memory for the bins that are in use; the system gives pages when they are touched.
class ValueHistogram {
 public:
  /// @param mantissa_bits  4 to 12. A bin is 2^-mantissa_bits of its numbers wide.
  explicit ValueHistogram(int mantissa_bits = kFine);
  ValueHistogram(const ValueHistogram& other);
  ValueHistogram(ValueHistogram&&) = default;
  ValueHistogram& operator=(ValueHistogram&&) = default;

  static constexpr int kFiner = 10;  ///< bins of 0.1 %
  static constexpr int kFine = 9;    ///< bins of 0.2 %
  static constexpr int kCoarse = 8;  ///< bins of 0.4 %, where there are many histograms

  /// False, and nothing is counted, when one of them is not finite.
  bool add(const float* numbers, int64_t count);
  void merge(const ValueHistogram& other);  ///< of as many mantissa bits

  int64_t count() const { return count_; }
  /// The smallest and largest number themselves.
  float low() const { return low_; }
  float high() const { return high_; }

  /// Numbers from `low` to `high`, spread evenly as far as this knows.
  struct Bin {
    double low, high;
    int64_t count;

    double middle() const { return (low + high) / 2; }
  };
  /// Those that are not empty, in ascending order, cut at low() and high().
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

  int64_t count_at(size_t key) const;  // without what is in the slots for zeros
  int64_t zeros_counted() const;       // and numbers in the bin of zero

  int mantissa_bits_;
  Table<uint32_t> counts_;  // recent ones, and slots for zeros, see count_numbers()
  Table<int64_t> settled_;  // those before, if there are any
  int64_t recent_ = 0;
  uint32_t least_key_ = ~0u;  // no number but zero is below: pages there are not even read
  int64_t count_ = 0;
  float low_ = 0, high_ = 0;
};

}  // namespace sparsebit::quant
