#include "quant/observers/all_observers.h"
#include "quant/observers/distribution_observer.h"

#include "quant/kernels/round_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sparsebit::quant {
namespace {

/// Candidate ranges: 100 % to 21 % of the full range.
constexpr int kCandidates = 80;
constexpr double kStep = 0.01;

float rounded_up(float scale, int significant_bits) {
  if (significant_bits == 0) return scale;
  int exponent = 0;
  const double mantissa = std::frexp(double{scale}, &exponent);
  const double steps = std::ceil(std::ldexp(mantissa, significant_bits) * (1 - kMayBeMissing));
  return static_cast<float>(std::ldexp(steps, exponent - significant_bits));
}

float rounded_scale(float scale, const QuantSpec& spec) {
  const float least = std::max(scale, static_cast<float>(kLeastScale));
  if (spec.pot_scale) return static_cast<float>(nearest_power_of_two(least));
  return rounded_up(least, spec.scale_bits);
}

/// The grid of a range, as in qparams_from_range().
Grid grid_of(const Bounds& bounds, const QuantSpec& spec) {
  const float low = std::min(static_cast<float>(bounds.low), 0.f);
  const float high = std::max(static_cast<float>(bounds.high), 0.f);
  const float qmin = static_cast<float>(spec.qmin()), qmax = static_cast<float>(spec.qmax());
  const float width = spec.is_signed_symmetric() ? 2 * std::max(-low, high)
                      : spec.is_symmetric()      ? high
                                                 : high - low;
  const float scale = rounded_scale(width / (qmax - qmin), spec);
  const float zero_point =
      spec.is_symmetric() ? 0.f : std::clamp(std::nearbyint(-low / scale) + qmin, qmin, qmax);
  return {scale, qmin - zero_point, qmax - zero_point};
}

/// The bins of a histogram as separate arrays, for vectorized loops.
struct Spread {
  std::vector<double> low, high, density;

  /// Merges bins that are much narrower than any candidate scale: near zero there are thousands.
  explicit Spread(const ValueHistogram& histogram) {
    constexpr double kNarrow = 1. / 4096;
    const double largest = std::max(-double{histogram.low()}, double{histogram.high()});
    for (const ValueHistogram::Bin& bin : histogram.bins()) {
      const bool same_sign = !low.empty() && (low.back() < 0) == (bin.low < 0);
      if (same_sign && bin.high - low.back() <= largest * kNarrow) {
        high.back() = bin.high;
        density.back() += static_cast<double>(bin.count);
      } else {
        add(bin);
      }
    }
    for (size_t i = 0; i < low.size(); ++i) density[i] /= high[i] - low[i];
  }

  int64_t size() const { return std::ssize(low); }

  double squared_excess(const Bounds& bounds) const {
    double sum = 0;
    const auto add_excess = [&](size_t i, double excess) {
      sum += excess * excess * density[i] * (high[i] - low[i]);
    };
    for (size_t i = 0; i < low.size() && high[i] < bounds.low; ++i)
      add_excess(i, bounds.low - high[i]);
    for (size_t i = low.size(); i-- > 0 && low[i] > bounds.high;)
      add_excess(i, low[i] - bounds.high);
    return sum;
  }

 private:
  /// Bins of width 0 get a small width. The bin of zero is skipped: zero has no error in any range.
  void add(const ValueHistogram::Bin& bin) {
    if (bin.low == 0 && bin.high == 0) return;
    const double margin = bin.low == bin.high ? 1e-6 * std::abs(bin.low) : 0;
    low.push_back(bin.low - margin);
    high.push_back(bin.high + margin);
    density.push_back(static_cast<double>(bin.count));
  }
};

/// The range with the least squared error. Of equal candidates the wider wins.
class Mse : public DistributionObserver {
 public:
  using DistributionObserver::DistributionObserver;

 private:
  int mantissa_bits() const override { return ValueHistogram::kFiner; }

  Bounds bounds_of(std::span<const float> numbers) const override {
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    const float* first = numbers.data();
    const int64_t count = std::ssize(numbers);
    return best(
        {*low, *high}, [&](const Grid& grid) { return squared_error(first, count, grid); },
        [&](const Bounds& bounds) {
          return squared_excess(first, count, static_cast<float>(bounds.low),
                                static_cast<float>(bounds.high));
        });
  }

  Bounds bounds_of(const ValueHistogram& histogram) const override {
    const Spread spread(histogram);
    return best(
        {histogram.low(), histogram.high()},
        [&](const Grid& grid) {
          return squared_error_of_spread(spread.low.data(), spread.high.data(),
                                         spread.density.data(), spread.size(), grid);
        },
        [&](const Bounds& bounds) { return spread.squared_excess(bounds); });
  }

  /// The clipping error only grows when the range becomes narrower: the search ends when it alone
  /// exceeds the least total error.
  template <class Error, class Excess>
  Bounds best(const Bounds& all, const Error& error, const Excess& excess) const {
    Bounds best = all;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kCandidates; ++i) {
      const double factor = 1 - kStep * i;
      const Bounds candidate = {all.low * factor, all.high * factor};
      const Grid grid = grid_of(candidate, spec());
      if (excess(reach_of(candidate, grid)) >= least) break;
      const double found = error(grid);
      if (found >= least) continue;
      least = found;
      best = candidate;
    }
    return best;
  }

  /// An upper bound of the values that the grids of this and narrower ranges can represent:
  /// rounding the zero point moves a grid by up to half a step, and rounding the scale may widen it
  /// up to the width of all its steps.
  Bounds reach_of(const Bounds& range, const Grid& grid) const {
    const double scale = grid.scale, all_steps = (double{grid.high} - grid.low + 1) * scale;
    const double low = std::min(range.low, 0.), high = std::max(range.high, 0.);
    const bool is_rounded = spec().pot_scale || spec().scale_bits > 0;
    const double far = is_rounded ? all_steps : std::max(-low, high) + scale;
    if (spec().is_symmetric()) return {-far, far};
    return {low - scale, is_rounded ? all_steps : high + scale};
  }
};

}  // namespace

ObserverPtr make_mse(const QuantSpec& spec, const ObserverConfig&) {
  return std::make_unique<Mse>(spec);
}

}  // namespace sparsebit::quant
