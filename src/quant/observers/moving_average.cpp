#include "quant/observers/all_observers.h"
#include "quant/observers/batch_ranges.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// The exponential moving average of the ranges of samples, also if batches are observed whole.
class MovingAverage : public Observer {
 public:
  MovingAverage(const QuantSpec& spec, double ratio) : Observer(spec), average_(ratio) {}

  bool depends_on_order() const override { return true; }

 private:
  void add(const at::Tensor& x) override {
    const bool has_batch = x.dim() > (spec().is_per_channel() ? 1 : 0);
    for (int64_t i = 0; i < (has_batch ? x.size(0) : 1); ++i)
      average_.add(bounds_of_rows(has_batch ? x.narrow(0, i, 1) : x));
  }

  void add_seen_by(const Observer& other) override {
    average_.append(static_cast<const MovingAverage&>(other).average_);
  }

  ValueRange found() const override {
    const ValueRange range = average_.range();
    return {shaped(range.low), shaped(range.high)};
  }

  AverageRange average_;
};

}  // namespace

ObserverPtr make_moving_average(const QuantSpec& spec, const ObserverConfig& config) {
  SPARSEBIT_CHECK(spec.target == Target::Activation, InvalidArgument,
                  "moving_average is for activations only");
  return std::make_unique<MovingAverage>(spec, config.ema_ratio);
}

}  // namespace sparsebit::quant
