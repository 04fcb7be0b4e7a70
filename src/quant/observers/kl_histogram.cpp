#include "quant/observers/all_observers.h"
#include "quant/observers/distribution_observer.h"

#include <algorithm>
#include <cmath>

namespace sparsebit::quant {
namespace {

/// Even bins from minus the largest magnitude to it.
constexpr int64_t kBins = 2048;
constexpr int64_t kCentre = kBins / 2;
/// Stands for nothing, of which there is no logarithm.
constexpr double kNothing = 1e-4;

/// Sums of the first numbers of a list, to have sums of any run in one step.
class RunningSums {
 public:
  template <class Item>
  RunningSums(const std::vector<double>& counts, Item item) : sums_(counts.size() + 1, 0.) {
    for (size_t i = 0; i < counts.size(); ++i) sums_[i + 1] = sums_[i] + item(counts[i]);
  }
  double operator()(int64_t from, int64_t to) const {
    return sums_[static_cast<size_t>(to)] - sums_[static_cast<size_t>(from)];
  }

 private:
  std::vector<double> sums_;
};

double times_log(double x) { return x > 0 ? x * std::log(x) : 0; }

/// Looks for the window around zero that, read as few integers, says most about all counts.
///
/// p is the window with what is outside added to its ends. q is what is left of the window when
/// neighbours are joined to `levels` bins and each is spread over those that had anything. Their
/// divergence is sum(p * log(p / q)), both divided by their sums.
class KlSearch {
 public:
  KlSearch(const std::vector<double>& counts, int64_t levels)
      : counts_(counts),
        levels_(levels),
        sum_(counts, [](double c) { return c; }),
        filled_(counts, [](double c) { return c > 0 ? 1. : 0.; }),
        times_log_(counts, times_log) {}

  /// Half the width of the best window, in bins.
  double best() const {
    double least = std::numeric_limits<double>::infinity();
    int64_t best = kCentre - 1;
    for (int64_t reach = levels_ / 2; reach < kCentre; ++reach) {
      const double found = divergence(reach);
      if (found >= least) continue;
      least = found;
      best = reach;
    }
    return static_cast<double>(best) + 0.5;
  }

 private:
  double divergence(int64_t reach) const {
    const int64_t first = kCentre - reach, last = kCentre + reach;
    const double below = sum_(0, first), above = sum_(last + 1, kBins);
    const double left = at(first) + below, right = at(last) + above;
    double p_log_p = times_log_(first + 1, last) + times_log(left) + times_log(right);
    double p_log_q = 0, q_sum = 0, q_empty = 0;
    const int64_t joined = (2 * reach + 1) / levels_;
    for (int64_t level = 0; level < levels_; ++level) {
      const int64_t from = first + level * joined;
      const int64_t to = level + 1 < levels_ ? from + joined : last + 1;
      const double in_window = sum_(from, to);
      const double outside = (level == 0 ? below : 0) + (level + 1 == levels_ ? above : 0);
      double filled = filled_(from, to);
      if (level == 0 && at(first) == 0 && below > 0) ++filled;
      if (level + 1 == levels_ && at(last) == 0 && above > 0) ++filled;
      q_empty += static_cast<double>(to - from) - (in_window > 0 ? filled : 0);
      q_sum += in_window;
      if (in_window + outside == 0) continue;
      p_log_q += (in_window + outside) * std::log(in_window > 0 ? in_window / filled : kNothing);
    }
    const double p_empty = static_cast<double>(2 * reach + 1) - filled_(first + 1, last) -
                           (left > 0 ? 1 : 0) - (right > 0 ? 1 : 0);
    const double p_total = sum_(0, kBins) + p_empty * kNothing;
    const double q_total = q_sum + q_empty * kNothing;
    // Where both are empty, p and q are the same and cancel.
    return (p_log_p - p_log_q) / p_total + std::log(q_total / p_total);
  }

  double at(int64_t bin) const { return counts_[static_cast<size_t>(bin)]; }

  const std::vector<double>& counts_;
  int64_t levels_;
  RunningSums sum_, filled_, times_log_;
};

class KlHistogram : public DistributionObserver {
 public:
  using DistributionObserver::DistributionObserver;

 private:
  Bounds bounds_of(std::span<const float> numbers) const override {
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    const double largest = std::max(-double{*low}, double{*high});
    std::vector<double> counts(kBins, 0.);
    for (const float number : numbers) ++counts[bin_of(number, largest)];
    return cut(counts, largest, *low);
  }

  Bounds bounds_of(const ValueHistogram& histogram) const override {
    const double largest = std::max(-double{histogram.low()}, double{histogram.high()});
    std::vector<double> counts(kBins, 0.);
    for (const ValueHistogram::Bin& bin : histogram.bins()) spread(bin, largest, counts);
    return cut(counts, largest, histogram.low());
  }

  static size_t bin_of(double number, double largest) {
    const double position = largest > 0 ? (number / largest + 1) / 2 * kBins : kCentre;
    return static_cast<size_t>(std::clamp<double>(position, 0, kBins - 1));
  }

  /// A bin that lies across several even ones is shared out among them in whole numbers: where a
  /// part of a number was, there would be something where there was nothing.
  static void spread(const ValueHistogram::Bin& bin, double largest, std::vector<double>& counts) {
    const size_t first = bin_of(bin.low, largest), last = bin_of(bin.high, largest);
    const double width = bin.high - bin.low, count = static_cast<double>(bin.count);
    double given = 0;
    for (size_t i = first; i < last && width > 0; ++i) {
      const double edge = (2. * static_cast<double>(i + 1) / kBins - 1) * largest;
      const double up_to_here =
          std::nearbyint(count * std::clamp((edge - bin.low) / width, 0., 1.));
      counts[i] += up_to_here - given;
      given = up_to_here;
    }
    counts[last] += count - given;
  }

  Bounds cut(const std::vector<double>& counts, double largest, double low) const {
    const int64_t levels = (int64_t{1} << spec().bits) - 1;
    // More integers than bins lose nothing that this could see.
    const bool all = levels / 2 >= kCentre || largest == 0;
    const double bin_width = 2 * largest / kBins;
    const double clip = all ? largest : KlSearch(counts, levels).best() * bin_width;
    return {low < 0 ? -clip : 0, clip};
  }
};

}  // namespace

ObserverPtr make_kl_histogram(const QuantSpec& spec, const ObserverConfig&) {
  return std::make_unique<KlHistogram>(spec);
}

}  // namespace sparsebit::quant
