#include "quant/observers/all_observers.h"
#include "quant/observers/batch_ranges.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// The mean plus and minus a number of standard deviations of the last batch, limited to its
/// minimum and maximum. MQBench takes the wider of the two bounds, which never clips: `widens`.
class ClipStd : public BatchRangeObserver<LastRange> {
 public:
  ClipStd(const QuantSpec& spec, double deviations, bool widens)
      : BatchRangeObserver(spec), deviations_(deviations), widens_(widens) {}

 private:
  ValueRange range_of_batch(const at::Tensor& x) const override {
    const ValueRange bounds = bounds_of_rows(x);
    const at::Tensor rows = rows_of(x);
    const bool is_sample = rows.size(1) > 1;  // sample variance: divided by n - 1
    const auto [sigma, mean] = at::std_mean(rows, at::IntArrayRef{1}, is_sample);
    const at::Tensor low = mean - deviations_ * sigma, high = mean + deviations_ * sigma;
    if (widens_) return {at::minimum(low, bounds.low), at::maximum(high, bounds.high)};
    return {at::maximum(low, bounds.low), at::minimum(high, bounds.high)};
  }

  double deviations_;
  bool widens_;
};

}  // namespace

ObserverPtr make_clip_std(const QuantSpec& spec, const ObserverConfig& config) {
  return std::make_unique<ClipStd>(spec, config.std_scale, config.std_widens);
}

}  // namespace sparsebit::quant
