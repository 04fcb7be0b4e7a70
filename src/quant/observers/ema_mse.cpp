#include "quant/observers/all_observers.h"
#include "quant/observers/batch_ranges.h"
#include "quant/observers/least_error_range.h"

namespace sparsebit::quant {
namespace {

/// The exponential moving average of the ranges of least error of the batches.
class EmaMse : public BatchRangeObserver<AverageRange> {
 public:
  EmaMse(const QuantSpec& spec, const ObserverConfig& config)
      : BatchRangeObserver(spec, AverageRange(config.ema_ratio)),
        exponent_(config.error_exponent) {}

 private:
  ValueRange range_of_batch(const at::Tensor& x) const override {
    return least_error_range(rows_of(x), bounds_of_rows(x), spec(), exponent_);
  }

  double exponent_;
};

}  // namespace

ObserverPtr make_ema_mse(const QuantSpec& spec, const ObserverConfig& config) {
  return std::make_unique<EmaMse>(spec, config);
}

}  // namespace sparsebit::quant
