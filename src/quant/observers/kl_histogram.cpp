#include "quant/observers/all_observers.h"
#include "quant/observers/distribution_observer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sparsebit::quant {
namespace {

/// Even bins from minus the largest magnitude to it.
constexpr int64_t kBins = 2048;
constexpr int64_t kCentre = kBins / 2;
/// Stands for nothing, of which there is no logarithm.
constexpr double kNothing = 1e-4;
constexpr double kLogOfNothing = -9.210340371976182;

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

/// Logarithms of whole numbers above 0. Counts of weights are small, and there are many of them.
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

/// Looks for the window around zero that, read as few integers, says most about all counts.
///
/// p is the window with what is outside added to its ends. q is what is left of the window when
/// neighbours are joined to `levels` bins and each is spread over those that had anything. Their
/// divergence is sum(p * log(p / q)), both divided by their sums.
///
/// The groups of a window begin every so many bins. For all windows with groups of one size, sums
/// over every so many groups are made once, and a window is the difference of two of them.
class KlSearch {
 public:
  KlSearch(const std::vector<double>& counts, int64_t levels)
      : counts_(counts),
        levels_(levels),
        sum_(counts, [](double c) { return c; }),
        filled_(counts, [](double c) { return c > 0 ? 1. : 0.; }),
        times_log_(counts, [this](double c) { return log_.times(c); }),
        logs_(kBins, 0.),
        empty_(kBins, 0.) {}

  /// Half the width of the best window, in bins.
  double best() {
    double least = std::numeric_limits<double>::infinity();
    int64_t best = kCentre - 1, group = 0;
    for (int64_t reach = levels_ / 2; reach < kCentre; ++reach) {
      if (const int64_t size = (2 * reach + 1) / levels_; size != group) {
        group = size;
        sum_groups(group);
      }
      const double found = divergence(reach, group);
      if (found >= least) continue;
      least = found;
      best = reach;
    }
    return static_cast<double>(best) + 0.5;
  }

 private:
  /// What a group gives: sum(p * log(q)) and how many bins of q are empty.
  struct Group {
    double p_log_q = 0;
    double empty = 0;
  };

  /// @param outside  counts added to p at an end of the window, and whether that fills a bin
  Group group_at(int64_t from, int64_t to, double outside = 0, double newly_filled = 0) const {
    const double inside = sum_(from, to), filled = filled_(from, to) + newly_filled;
    Group group{.empty = static_cast<double>(to - from) - (inside > 0 ? filled : 0)};
    if (inside + outside > 0)
      group.p_log_q =
          (inside + outside) * (inside > 0 ? log_.of(inside) - log_.of(filled) : kLogOfNothing);
    return group;
  }

  /// Only where windows with groups of this size reach.
  void sum_groups(int64_t size) {
    const int64_t reach = std::min((size + 1) * levels_ / 2 + 1, kCentre - 1);
    const int64_t begin = kCentre - reach, end = kCentre + reach + 1;
    for (int64_t from = begin; from + size <= end; ++from) {
      const Group group = sum_(from, from + size) > 0 ? group_at(from, from + size)
                                                      : Group{0, static_cast<double>(size)};
      const bool has_before = from - size >= begin;
      logs_[index(from)] = group.p_log_q + (has_before ? logs_[index(from - size)] : 0);
      empty_[index(from)] = group.empty + (has_before ? empty_[index(from - size)] : 0);
    }
  }

  double divergence(int64_t reach, int64_t size) const {
    const int64_t first = kCentre - reach, last = kCentre + reach;
    const double below = sum_(0, first), above = sum_(last + 1, kBins);
    const double left = at(first) + below, right = at(last) + above;
    const int64_t start_of_last = first + (levels_ - 1) * size;
    const Group front = group_at(first, first + size, below, at(first) == 0 && below > 0 ? 1 : 0);
    const Group back = group_at(start_of_last, last + 1, above, at(last) == 0 && above > 0 ? 1 : 0);
    // Those between the two: up to the one before the last, without the first.
    const size_t up_to = index(start_of_last - size), without = index(first);
    const double p_log_q = front.p_log_q + back.p_log_q + logs_[up_to] - logs_[without];
    const double q_empty = front.empty + back.empty + empty_[up_to] - empty_[without];
    const double p_log_p = times_log_(first + 1, last) + log_.times(left) + log_.times(right);
    const double p_empty = static_cast<double>(2 * reach + 1) - filled_(first + 1, last) -
                           (left > 0 ? 1 : 0) - (right > 0 ? 1 : 0);
    const double p_total = sum_(0, kBins) + p_empty * kNothing;
    const double q_total = sum_(first, last + 1) + q_empty * kNothing;
    // Where both are empty, p and q are the same and cancel.
    return (p_log_p - p_log_q) / p_total + std::log(q_total / p_total);
  }

  static size_t index(int64_t bin) { return static_cast<size_t>(bin); }
  double at(int64_t bin) const { return counts_[index(bin)]; }

  const Logarithms& log_ = Logarithms::all();
  const std::vector<double>& counts_;
  int64_t levels_;
  RunningSums sum_, filled_, times_log_;
  std::vector<double> logs_, empty_;  // by first bin: this group and those every so many before it
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
