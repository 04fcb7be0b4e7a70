#include "quant/observers/all_observers.h"
#include "quant/observers/batch_ranges.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace sparsebit::quant {
namespace {

/// The quantile `share` of the magnitudes: the middle of its bin in a histogram of equal bins from
/// 0 to `largest`.
double quantile_of_magnitudes(std::span<const float> numbers, double largest, double share,
                              int64_t bins) {
  const double width = largest / static_cast<double>(bins);
  std::vector<int64_t> counts(static_cast<size_t>(bins));
  for (const float number : numbers) {
    const auto bin = static_cast<int64_t>(std::abs(double{number}) / width);
    ++counts[static_cast<size_t>(std::min(bin, bins - 1))];
  }
  const double wanted = share * static_cast<double>(numbers.size());
  int64_t bin = 0, up_to = counts.front();
  while (static_cast<double>(up_to) < wanted && bin + 1 < bins)
    up_to += counts[static_cast<size_t>(++bin)];
  return (static_cast<double>(bin) + 0.5) * width;
}

/// Averages the ranges of the batches, each clipped at a quantile of its magnitudes.
class EmaQuantile : public BatchRangeObserver<AverageRange> {
 public:
  EmaQuantile(const QuantSpec& spec, const ObserverConfig& config)
      : BatchRangeObserver(spec, AverageRange(config.ema_ratio)),
        share_(config.quantile),
        bins_(config.quantile_bins) {
    SPARSEBIT_CHECK(!spec.is_per_channel(), InvalidArgument,
                    "ema_quantile has one range per tensor, not ", to_string(spec.scheme));
  }

 private:
  ValueRange range_of_batch(const at::Tensor& x) const override {
    const ValueRange bounds = bounds_of_rows(x);
    const double largest = at::maximum(-bounds.low, bounds.high).item<double>();
    if (largest == 0) return bounds;
    const at::Tensor row = rows_of(x);
    const std::span<const float> numbers(row.data_ptr<float>(), static_cast<size_t>(row.numel()));
    const double clip = quantile_of_magnitudes(numbers, largest, share_, bins_);
    return {bounds.low.clamp_min(-clip), bounds.high.clamp_max(clip)};
  }

  double share_;
  int64_t bins_;
};

}  // namespace

ObserverPtr make_ema_quantile(const QuantSpec& spec, const ObserverConfig& config) {
  return std::make_unique<EmaQuantile>(spec, config);
}

}  // namespace sparsebit::quant
