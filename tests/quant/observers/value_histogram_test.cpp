#include "sparsebit/quant/observers/value_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace sparsebit::quant::value_histogram_test {
namespace {

ValueHistogram histogram_of(const std::vector<float>& numbers) {
  ValueHistogram histogram;
  EXPECT_TRUE(histogram.add(numbers.data(), std::ssize(numbers)));
  return histogram;
}

/// Every number is in exactly one bin, and each bin has the right count.
void check_bins(const std::vector<float>& numbers, const ValueHistogram& histogram) {
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  EXPECT_EQ(histogram.low(), *low);
  EXPECT_EQ(histogram.high(), *high);
  EXPECT_EQ(histogram.count(), std::ssize(numbers));
  int64_t counted = 0;
  double last = -std::numeric_limits<double>::infinity();
  for (const ValueHistogram::Bin& bin : histogram.bins()) {
    EXPECT_GE(bin.low, last);
    last = bin.high;
    // The bound nearer to zero is inclusive.
    const int64_t inside = std::count_if(numbers.begin(), numbers.end(), [&](float number) {
      if (bin.low == bin.high) return double{number} == bin.low;
      if (bin.low < 0) return number > bin.low && number <= bin.high && number < 0;
      return number >= bin.low && number < bin.high;
    });
    const bool has_end = bin.low < 0 ? bin.low == *low : bin.high == *high;
    const int64_t at_end =
        has_end && bin.low != bin.high
            ? std::count(numbers.begin(), numbers.end(), bin.low < 0 ? *low : *high)
            : 0;
    EXPECT_EQ(bin.count, inside + at_end) << bin.low << " to " << bin.high;
    counted += bin.count;
  }
  EXPECT_EQ(counted, std::ssize(numbers));
}

std::vector<float> bell(float mean, float deviation, int count) {
  std::mt19937 generator(7);
  std::normal_distribution<float> draw(mean, deviation);
  std::vector<float> numbers(static_cast<size_t>(count));
  std::generate(numbers.begin(), numbers.end(), [&] { return draw(generator); });
  return numbers;
}

TEST(ValueHistogram, CountsNumbersOfAnySignAndSize) {
  const std::vector<std::vector<float>> cases = {bell(0, 1, 3001),
                                                 bell(-50, 1, 100),
                                                 bell(1e6f, 1e5f, 1029),
                                                 bell(1e-30f, 1e-30f, 100),
                                                 {0.f},
                                                 {-3.f},
                                                 {2.f, 2.f, 2.f},
                                                 {0.f, 0.f, 1.f, 1.f},
                                                 {-1.f, 0.f},
                                                 {FLT_MAX, -FLT_MAX, 0.f},
                                                 {FLT_TRUE_MIN, 1.f, -1e-4f},
                                                 {-FLT_TRUE_MIN, -1.f}};
  for (const std::vector<float>& numbers : cases) check_bins(numbers, histogram_of(numbers));
}

TEST(ValueHistogram, MinusZeroIsZero) {
  const ValueHistogram histogram = histogram_of({-0.f, 0.f, -0.f});
  EXPECT_FALSE(std::signbit(histogram.low()));
  ASSERT_EQ(histogram.bins().size(), 1u);
  EXPECT_EQ(histogram.bins()[0].count, 3);
}

TEST(ValueHistogram, MergedIsWhatCountingAllIs) {
  const std::vector<float> some = bell(0, 1, 500), others = bell(-3, 2, 700), zeros(9, 0.f);
  ValueHistogram merged = histogram_of(some);
  merged.merge(histogram_of(others));
  merged.merge(histogram_of(zeros));
  merged.merge(ValueHistogram());
  std::vector<float> all = some;
  all.insert(all.end(), others.begin(), others.end());
  all.insert(all.end(), zeros.begin(), zeros.end());
  check_bins(all, merged);
  check_bins(all, ValueHistogram(merged));
}

TEST(ValueHistogram, WhatIsNotFiniteIsRefusedWithAllBesideIt) {
  const std::vector<float> good = bell(0, 1, 100);
  for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
    ValueHistogram histogram = histogram_of(good);
    std::vector<float> numbers(5000, 8.f);
    numbers[4000] = bad;
    EXPECT_FALSE(histogram.add(numbers.data(), std::ssize(numbers)));
    check_bins(good, histogram);
  }
}

}  // namespace
}  // namespace sparsebit::quant::value_histogram_test
