#include "quant/observers/moments.h"

#include "quant/observers/distribution_observer.h"
#include "quant/observers/means.h"

#include <algorithm>
#include <cmath>

namespace sparsebit::quant {
namespace {

double magnitude(double x) { return std::abs(x); }

class MeanMagnitude : public DistributionObserver {
 public:
  using DistributionObserver::DistributionObserver;

 private:
  Bounds bounds_of(std::span<const float> numbers) const override {
    return {*std::min_element(numbers.begin(), numbers.end()), mean_of(numbers, magnitude)};
  }
  Bounds bounds_of(const ValueHistogram& histogram) const override {
    return {histogram.low(), mean_of(histogram.bins(), magnitude)};
  }
};

class ThreeSigma : public DistributionObserver {
 public:
  using DistributionObserver::DistributionObserver;

 private:
  Bounds bounds_of(std::span<const float> numbers) const override {
    return around_mean(numbers, static_cast<double>(numbers.size()));
  }
  Bounds bounds_of(const ValueHistogram& histogram) const override {
    return around_mean(histogram.bins(), static_cast<double>(histogram.count()));
  }

  template <class Numbers>
  static Bounds around_mean(const Numbers& numbers, double count) {
    const double mean = mean_of(numbers, [](double x) { return x; });
    const double variance = mean_of(numbers, [&](double x) { return (x - mean) * (x - mean); });
    const double sigma = std::sqrt(variance * count / std::max(count - 1, 1.));
    return {mean - 3 * sigma, mean + 3 * sigma};
  }
};

}  // namespace

std::unique_ptr<Observer> make_mean_magnitude(const QuantSpec& spec, const ObserverConfig&) {
  return std::make_unique<MeanMagnitude>(spec);
}

std::unique_ptr<Observer> make_three_sigma(const QuantSpec& spec, const ObserverConfig&) {
  return std::make_unique<ThreeSigma>(spec);
}

}  // namespace sparsebit::quant
