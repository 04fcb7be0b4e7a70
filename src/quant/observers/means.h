#pragma once

#include "sparsebit/quant/observers/value_histogram.h"

#include <span>
#include <vector>

namespace sparsebit::quant {

/// The mean of value(x) over numbers, or over bins with each number taken as the middle of its bin.
template <class Value>
double mean_of(std::span<const float> numbers, const Value& value) {
  double sum = 0;
  for (const float number : numbers) sum += value(number);
  return sum / static_cast<double>(numbers.size());
}

template <class Value>
double mean_of(const std::vector<ValueHistogram::Bin>& bins, const Value& value) {
  double sum = 0, count = 0;
  for (const ValueHistogram::Bin& bin : bins) {
    sum += static_cast<double>(bin.count) * value(bin.middle());
    count += static_cast<double>(bin.count);
  }
  return sum / count;
}

}  // namespace sparsebit::quant
