#include "quant/observers/all_observers.h"
#include "quant/observers/distribution_observer.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <numeric>

namespace sparsebit::quant {
namespace {

/// Equal bins whose width is a power of two; 512 to 1024 of them reach the largest magnitude, so
/// that every bin of a ValueHistogram of that magnitude lies in one of them.
constexpr int kBinBits = 9;
/// With fewer values per level, the set of empty bins, and hence the divergence, is random.
constexpr double kNumbersPerLevel = 8;
/// Replaces empty bins, because log(0) is undefined.
constexpr double kNothing = 1e-4;
constexpr double kLogOfNothing = -9.210340371976182;

/// Prefix sums, for the sum of any range in constant time.
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

/// Logarithms of integers above 0, cached for small ones, which counts of weights mostly are.
class Logarithms {
 public:
  double of(double count) const {
    return count < kKnown ? small_[static_cast<size_t>(count)] : std::log(count);
  }
  double times(double count) const { return count > 0 ? count * of(count) : 0; }

  static const Logarithms& all() {
    static const Logarithms logarithms;
    return logarithms;
  }

 private:
  static constexpr int kKnown = 4096;

  Logarithms() {
    for (int i = 1; i < kKnown; ++i) small_[static_cast<size_t>(i)] = std::log(i);
  }

  std::array<double, kKnown> small_ = {};
};

/// A histogram with equal bins on both sides of zero, or from zero on.
class EvenBins {
 public:
  /// @param two_sided  the same number of bins below zero as above.
  EvenBins(double largest, bool two_sided)
      : width_(std::ldexp(1., std::ilogb(largest) - kBinBits)),
        reach_(static_cast<int64_t>(largest / width_) + 1),
        two_sided_(two_sided),
        counts_(static_cast<size_t>(two_sided ? 2 * reach_ : reach_), 0.) {}

  double width() const { return width_; }
  int64_t reach() const { return reach_; }  ///< number of bins per side
  int64_t sides() const { return two_sided_ ? 2 : 1; }
  int64_t size() const { return std::ssize(counts_); }
  const std::vector<double>& counts() const { return counts_; }
  double total() const { return std::accumulate(counts_.begin(), counts_.end(), 0.); }

  /// The range of the bins within `reach` of zero, on one side or both.
  int64_t begin_of(int64_t reach) const { return two_sided_ ? reach_ - reach : 0; }
  int64_t end_of(int64_t reach) const { return size() - reach_ + reach; }

  /// Skips zeros: they are represented exactly in every range.
  void add(double number) {
    if (std::abs(number) >= FLT_MIN) at(number < 0, step_of(std::abs(number))) += 1;
  }

  /// Distributes a bin that overlaps several bins of this histogram in whole numbers: fractions
  /// would turn empty bins into non-empty ones.
  void add(const ValueHistogram::Bin& bin) {
    const double near = std::min(std::abs(bin.low), std::abs(bin.high));
    const double far = std::max(std::abs(bin.low), std::abs(bin.high));
    if (far <= FLT_MIN) return;
    const bool negative = bin.low < 0;
    int64_t step = step_of(near);
    double left = static_cast<double>(bin.count);
    for (; static_cast<double>(step + 1) * width_ < far; ++step) {
      const double edge = static_cast<double>(step + 1) * width_;
      const double beyond =
          std::nearbyint(static_cast<double>(bin.count) * (far - edge) / (far - near));
      at(negative, step) += left - beyond;
      left = beyond;
    }
    at(negative, step) += left;
  }

 private:
  int64_t step_of(double magnitude) const { return static_cast<int64_t>(magnitude / width_); }

  double& at(bool negative, int64_t step) {
    const int64_t zero = size() - reach_;
    return counts_[static_cast<size_t>(negative ? zero - 1 - step : zero + step)];
  }

  double width_;
  int64_t reach_;
  bool two_sided_;
  std::vector<double> counts_;
};

/// Finds the clipping range, a window of bins around zero, whose quantized distribution has the
/// least Kullback-Leibler divergence from the full distribution.
///
/// p is the window with the counts outside added to its outermost bins. q is the window quantized
/// to `levels` groups of neighbouring bins, with the count of each group distributed evenly over
/// its non-empty bins. The divergence is sum(p * log(p / q)), with p and q normalized.
///
/// All groups of a window have the same size in bins. For all windows with one group size, prefix
/// sums over the groups are computed once, and a window is the difference of two of them.
class KlSearch {
 public:
  KlSearch(const EvenBins& bins, int64_t levels)
      : bins_(bins),
        levels_(levels),
        sum_(bins.counts(), [](double c) { return c; }),
        filled_(bins.counts(), [](double c) { return c > 0 ? 1. : 0.; }),
        times_log_(bins.counts(), [this](double c) { return log_.times(c); }),
        logs_(bins.counts().size(), 0.),
        empty_(bins.counts().size(), 0.) {}

  /// Half-width of the best window, in bins.
  double best() {
    double least = std::numeric_limits<double>::infinity();
    int64_t best = bins_.reach(), group = 0;
    for (int64_t reach = (levels_ + bins_.sides() - 1) / bins_.sides(); reach <= bins_.reach();
         ++reach) {
      if (const int64_t size = bins_.sides() * reach / levels_; size != group) {
        group = size;
        sum_groups(group);
      }
      const double found = divergence(reach, group);
      if (found >= least) continue;
      least = found;
      best = reach;
    }
    return static_cast<double>(best);
  }

 private:
  /// Contribution of a group: sum(p * log(q)) and the number of empty bins of q.
  struct Group {
    double p_log_q = 0;
    double empty = 0;
  };

  /// @param outside  count added to p at an end of the window
  /// @param newly_filled  1 if this makes an empty bin non-empty
  Group group_at(int64_t from, int64_t to, double outside = 0, double newly_filled = 0) const {
    const double inside = sum_(from, to), filled = filled_(from, to) + newly_filled;
    Group group{.empty = static_cast<double>(to - from) - (inside > 0 ? filled : 0)};
    if (inside + outside > 0)
      group.p_log_q =
          (inside + outside) * (inside > 0 ? log_.of(inside) - log_.of(filled) : kLogOfNothing);
    return group;
  }

  /// Prefix sums over groups of this size, only for the bins that windows with this size cover.
  void sum_groups(int64_t size) {
    const int64_t reach = std::min(((size + 1) * levels_ - 1) / bins_.sides() + 1, bins_.reach());
    const int64_t begin = bins_.begin_of(reach), end = bins_.end_of(reach);
    for (int64_t from = begin; from + size <= end; ++from) {
      const Group group = sum_(from, from + size) > 0 ? group_at(from, from + size)
                                                      : Group{0, static_cast<double>(size)};
      const bool has_before = from - size >= begin;
      logs_[index(from)] = group.p_log_q + (has_before ? logs_[index(from - size)] : 0);
      empty_[index(from)] = group.empty + (has_before ? empty_[index(from - size)] : 0);
    }
  }

  double divergence(int64_t reach, int64_t size) const {
    const int64_t first = bins_.begin_of(reach), last = bins_.end_of(reach) - 1;
    const double below = sum_(0, first), above = sum_(last + 1, bins_.size());
    const double left = at(first) + below, right = at(last) + above;
    const int64_t start_of_last = first + (levels_ - 1) * size;
    const Group front = group_at(first, first + size, below, at(first) == 0 && below > 0 ? 1 : 0);
    const Group back = group_at(start_of_last, last + 1, above, at(last) == 0 && above > 0 ? 1 : 0);
    // The groups between front and back.
    const size_t up_to = index(start_of_last - size), without = index(first);
    const double p_log_q = front.p_log_q + back.p_log_q + logs_[up_to] - logs_[without];
    const double q_empty = front.empty + back.empty + empty_[up_to] - empty_[without];
    const double p_log_p = times_log_(first + 1, last) + log_.times(left) + log_.times(right);
    const double p_empty = static_cast<double>(last + 1 - first) - filled_(first + 1, last) -
                           (left > 0 ? 1 : 0) - (right > 0 ? 1 : 0);
    const double p_total = sum_(0, bins_.size()) + p_empty * kNothing;
    const double q_total = sum_(first, last + 1) + q_empty * kNothing;
    // Where both are empty, p and q are the same and cancel.
    return (p_log_p - p_log_q) / p_total + std::log(q_total / p_total);
  }

  static size_t index(int64_t bin) { return static_cast<size_t>(bin); }
  double at(int64_t bin) const { return bins_.counts()[index(bin)]; }

  const Logarithms& log_ = Logarithms::all();
  const EvenBins& bins_;
  int64_t levels_;
  RunningSums sum_, filled_, times_log_;
  std::vector<double> logs_, empty_;  // prefix sums over groups, by their first bin
};

/// See docs/decisions/0007-kl-ranges.md for the differences from the Python Sparsebit.
class KlHistogram : public DistributionObserver {
 public:
  using DistributionObserver::DistributionObserver;

 private:
  Bounds bounds_of(std::span<const float> numbers) const override {
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    if (is_few(static_cast<double>(numbers.size()))) return whole(*low, *high);
    return best_of(*low, *high, numbers);
  }
  Bounds bounds_of(const ValueHistogram& histogram) const override {
    return best_of(histogram.low(), histogram.high(), histogram.bins());
  }

  template <class Numbers>
  Bounds best_of(double low, double high, const Numbers& numbers) const {
    const double largest = std::max(-low, high);
    if (largest < FLT_MIN) return {low, high};
    // For non-negative values and unsigned integers, all bins are on the positive side.
    EvenBins bins(largest, spec().is_signed_symmetric() || low < 0);
    for (const auto& number : numbers) bins.add(number);
    // No search for too few values, or for more levels than bins.
    if (is_few(bins.total()) || levels() > bins.size()) return whole(low, high);
    const double clip = std::min(KlSearch(bins, levels()).best() * bins.width(), largest);
    return {low < 0 ? -clip : 0, clip};
  }

  int64_t levels() const { return (int64_t{1} << spec().bits_in_use()) - 1; }
  bool is_few(double numbers) const {
    return numbers < kNumbersPerLevel * static_cast<double>(levels());
  }
  static Bounds whole(double low, double high) {
    const double largest = std::max(-low, high);
    return {low < 0 ? -largest : 0, largest};
  }
};

}  // namespace

ObserverPtr make_kl_histogram(const QuantSpec& spec, const ObserverConfig&) {
  return std::make_unique<KlHistogram>(spec);
}

}  // namespace sparsebit::quant
