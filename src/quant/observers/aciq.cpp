#include "quant/observers/all_observers.h"
#include "quant/observers/distribution_observer.h"
#include "quant/observers/means.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace sparsebit::quant {
namespace {

// Best clipping bound by bits, as a multiple of the spread: the published tables (Banner et al.,
// 2019). "Half" is for non-negative values, whose resolution is one bit higher.
constexpr std::array kGauss = {0., 1.24, 1.71, 2.15, 2.55, 2.93, 3.28, 3.61, 3.92};
constexpr std::array kGaussHalf = {0., 1.71, 2.15, 2.55, 2.93, 3.28, 3.61, 3.92, 4.2};
constexpr std::array kLaplace = {1.05, 1.86, 2.83, 3.89, 5.03, 6.2, 7.41, 8.64, 9.89};
constexpr std::array kLaplaceHalf = {1.86, 2.83, 3.89, 5.02, 6.2, 7.41, 8.64, 9.89, 11.16};

/// The negative derivative of the clipping error by the bound `alpha`, for a spread of 1.
double gain(Distribution distribution, double alpha) {
  if (distribution == Distribution::Laplace) return 2 * std::exp(-alpha);
  const double density = std::exp(-alpha * alpha / 2) / std::sqrt(2 * std::numbers::pi);
  return 4 * (density - alpha * std::erfc(alpha / std::numbers::sqrt2) / 2);
}

/// For bits beyond the tables: the bound where the clipping error falls as fast as the rounding
/// error, alpha^2 / (3 * 4^bits), grows.
double best_cut(Distribution distribution, int bits) {
  double low = 0, high = 64;
  for (int i = 0; i < 100; ++i) {
    const double alpha = (low + high) / 2;
    const double loss = 2 * alpha / (3 * std::pow(4., bits));
    (gain(distribution, alpha) > loss ? low : high) = alpha;
  }
  return low;
}

double cut_for(Distribution distribution, int bits, bool half) {
  const auto& table = distribution == Distribution::Gauss ? (half ? kGaussHalf : kGauss)
                                                          : (half ? kLaplaceHalf : kLaplace);
  const auto index = static_cast<size_t>(bits);
  return index < table.size() ? table[index] : best_cut(distribution, bits + (half ? 1 : 0));
}

/// The standard deviation of a normal distribution from the extremes of `count` values: the maximum
/// of n values is about sqrt(2 ln n) standard deviations.
double gauss_spread(double low, double high, double count) {
  constexpr double kHalfWidth = 0.5 * 0.35;
  const double k = kHalfWidth * (1 + std::sqrt(std::numbers::pi * std::log(4.)));
  return (high - low) * k / std::sqrt(2 * std::log(std::max(count, 2.)));
}

class Aciq : public DistributionObserver {
 public:
  Aciq(const QuantSpec& spec, Distribution distribution)
      : DistributionObserver(spec), distribution_(distribution) {}

 private:
  Bounds bounds_of(std::span<const float> numbers) const override {
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    return cut_at(*low, *high, numbers);
  }

  Bounds bounds_of(const ValueHistogram& histogram) const override {
    return cut_at(histogram.low(), histogram.high(), histogram.bins());
  }

  template <class Numbers>
  Bounds cut_at(double low, double high, const Numbers& numbers) const {
    const bool half = !spec().is_signed_symmetric() && low >= 0;
    const double spread = distribution_ == Distribution::Gauss
                              ? gauss_spread(low, high, elements_per_sample())
                              : laplace_spread(numbers);
    if (spread == 0) return {low, high};  // all values are equal
    const double clip = cut_for(distribution_, spec().bits_in_use(), half) * spread;
    return {half ? 0 : -clip, clip};
  }

  /// The mean distance from the mean.
  template <class Numbers>
  static double laplace_spread(const Numbers& numbers) {
    const double mean = mean_of(numbers, [](double x) { return x; });
    return mean_of(numbers, [&](double x) { return std::abs(x - mean); });
  }

  Distribution distribution_;
};

}  // namespace

ObserverPtr make_aciq(const QuantSpec& spec, const ObserverConfig& config) {
  return std::make_unique<Aciq>(spec, config.distribution);
}

}  // namespace sparsebit::quant
