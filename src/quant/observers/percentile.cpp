#include "quant/observers/all_observers.h"
#include "quant/observers/distribution_observer.h"

#include <algorithm>
#include <cmath>

namespace sparsebit::quant {
namespace {

/// How many of `count` numbers are clipped: rounds half to even, like Python.
int64_t cut(int64_t count, double alpha) {
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(count) * alpha));
}

/// The number with this rank in ascending order, assuming evenly distributed numbers in each bin.
double number_at(const std::vector<ValueHistogram::Bin>& bins, int64_t rank) {
  int64_t before = 0;
  for (const ValueHistogram::Bin& bin : bins) {
    if (rank < before + bin.count) {
      const double part =
          (static_cast<double>(rank - before) + 0.5) / static_cast<double>(bin.count);
      return bin.low + (bin.high - bin.low) * part;
    }
    before += bin.count;
  }
  return bins.back().high;
}

/// Clips a share of the outermost numbers, separately for those above and below zero.
class Percentile : public DistributionObserver {
 public:
  Percentile(const QuantSpec& spec, double alpha) : DistributionObserver(spec), alpha_(alpha) {}

 private:
  Bounds bounds_of(std::span<const float> numbers) const override {
    std::vector<float> parted(numbers.begin(), numbers.end());
    const auto zero = std::partition(parted.begin(), parted.end(), [](float x) { return x < 0; });
    const int64_t negative = zero - parted.begin(), positive = parted.end() - zero;
    Bounds bounds;
    if (positive > 0) {
      const auto high = parted.end() - 1 - cut(positive, alpha_);
      std::nth_element(zero, high, parted.end());
      bounds.high = *high;
    }
    if (negative > 0) {
      const auto low = parted.begin() + std::max<int64_t>(cut(negative, alpha_), 1) - 1;
      std::nth_element(parted.begin(), low, zero);
      bounds.low = *low;
    }
    return bounds;
  }

  Bounds bounds_of(const ValueHistogram& histogram) const override {
    const std::vector<ValueHistogram::Bin> bins = histogram.bins();
    int64_t negative = 0;
    for (const ValueHistogram::Bin& bin : bins) negative += bin.low < 0 ? bin.count : 0;
    const int64_t positive = histogram.count() - negative;
    const int64_t above = cut(positive, alpha_);
    const int64_t below = std::max<int64_t>(cut(negative, alpha_), 1) - 1;
    Bounds bounds;
    if (positive > 0)
      bounds.high = above == 0 ? histogram.high() : number_at(bins, histogram.count() - 1 - above);
    if (negative > 0) bounds.low = below == 0 ? histogram.low() : number_at(bins, below);
    return bounds;
  }

  double alpha_;
};

}  // namespace

ObserverPtr make_percentile(const QuantSpec& spec, const ObserverConfig& config) {
  return std::make_unique<Percentile>(spec, config.percentile_alpha);
}

}  // namespace sparsebit::quant
