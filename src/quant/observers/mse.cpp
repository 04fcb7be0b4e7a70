#include "quant/observers/all_observers.h"
#include "quant/observers/distribution_observer.h"

#include "quant/kernels/round_loop.h"

#include <algorithm>
#include <cmath>

namespace sparsebit::quant {
namespace {

/// Ranges that are tried: 100 % to 21 % of the largest numbers.
constexpr int kCandidates = 80;
constexpr double kStep = 0.01;

/// The grid of a range, computed as qparams_from_range() does.
Grid grid_of(const Bounds& bounds, const QuantSpec& spec) {
  const float low = std::min(static_cast<float>(bounds.low), 0.f);
  const float high = std::max(static_cast<float>(bounds.high), 0.f);
  const float steps = static_cast<float>(spec.qmax() - spec.qmin());
  const float width = spec.is_symmetric() ? 2 * std::max(-low, high) : high - low;
  const float scale = std::max(width / steps, static_cast<float>(kLeastScale));
  const float zero_point = spec.is_symmetric() ? 0.f : std::nearbyint(-low / scale);
  return {scale, static_cast<float>(spec.qmin()) - zero_point,
          static_cast<float>(spec.qmax()) - zero_point};
}

/// Half to even, without a call: right for numbers below 2^51.
double rounded(double x) {
  constexpr double kRounder = 6755399441055744.;  // 1.5 * 2^52
  return (x + kRounder) - kRounder;
}

/// The integral of (x - nearest multiple of scale)^2 from 0 to x.
double squared_rounding(double x, double scale) {
  const double whole = rounded(x / scale), rest = x - whole * scale;
  return whole * scale * scale * scale / 12 + rest * rest * rest / 3;
}

/// The mean squared error of numbers that are spread evenly from `low` to `high`.
double mean_error(double low, double high, const Grid& grid) {
  const double scale = grid.scale, least = grid.low * scale, most = grid.high * scale;
  if (high <= low) {
    const double nearest =
        std::clamp(rounded(low / scale), double{grid.low}, double{grid.high}) * scale;
    return (low - nearest) * (low - nearest);
  }
  const auto cubed = [](double x) { return x * x * x; };
  double sum = 0;
  // Beyond the last integer; between it and the half step around it rounding says the same.
  if (high > most) sum += (cubed(high - most) - cubed(std::max(low, most) - most)) / 3;
  if (low < least) sum += (cubed(least - low) - cubed(least - std::min(high, least))) / 3;
  const double from = std::clamp(low, least, most), to = std::clamp(high, least, most);
  if (to > from) sum += squared_rounding(to, scale) - squared_rounding(from, scale);
  return sum / (high - low);
}

/// Bins that are narrow against any step that is tried are put together: near zero there are
/// thousands of them.
std::vector<ValueHistogram::Bin> even_bins(const ValueHistogram& histogram) {
  constexpr double kNarrow = 1. / 4096;
  const double largest = std::max(-double{histogram.low()}, double{histogram.high()});
  std::vector<ValueHistogram::Bin> bins;
  for (const ValueHistogram::Bin& bin : histogram.bins()) {
    const bool same_sign = !bins.empty() && (bins.back().low < 0) == (bin.low < 0);
    if (same_sign && bin.high - bins.back().low <= largest * kNarrow) {
      bins.back().high = bin.high;
      bins.back().count += bin.count;
    } else {
      bins.push_back(bin);
    }
  }
  return bins;
}

/// The range with the least squared error. Of equals the wider wins.
class Mse : public DistributionObserver {
 public:
  using DistributionObserver::DistributionObserver;

 private:
  int mantissa_bits() const override { return ValueHistogram::kFiner; }

  Bounds bounds_of(std::span<const float> numbers) const override {
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    return best({*low, *high}, [&](const Grid& grid) {
      return squared_error(numbers.data(), static_cast<int64_t>(numbers.size()), grid);
    });
  }

  Bounds bounds_of(const ValueHistogram& histogram) const override {
    const std::vector<ValueHistogram::Bin> bins = even_bins(histogram);
    return best({histogram.low(), histogram.high()}, [&](const Grid& grid) {
      double sum = 0;
      for (const ValueHistogram::Bin& bin : bins)
        sum += static_cast<double>(bin.count) * mean_error(bin.low, bin.high, grid);
      return sum;
    });
  }

  template <class Error>
  Bounds best(const Bounds& all, const Error& error) const {
    Bounds best = all;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kCandidates; ++i) {
      const double factor = 1 - kStep * i;
      const Bounds candidate = {all.low * factor, all.high * factor};
      const double found = error(grid_of(candidate, spec()));
      if (found >= least) continue;
      least = found;
      best = candidate;
    }
    return best;
  }
};

}  // namespace

ObserverPtr make_mse(const QuantSpec& spec, const ObserverConfig&) {
  return std::make_unique<Mse>(spec);
}

}  // namespace sparsebit::quant
