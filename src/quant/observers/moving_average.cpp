#include "quant/observers/all_observers.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::quant {
namespace {

/// The first sample starts; each further one counts 1 - ratio, and what was there ratio.
class MovingAverage : public Observer {
 public:
  MovingAverage(const QuantSpec& spec, double ratio) : Observer(spec), ratio_(ratio) {}

  bool depends_on_order() const override { return true; }

 private:
  void add(const at::Tensor& x) override {
    const bool has_batch = x.dim() > (spec().is_per_channel() ? 1 : 0);
    for (int64_t i = 0; i < (has_batch ? x.size(0) : 1); ++i) {
      const at::Tensor sample = has_batch ? x.narrow(0, i, 1) : x;
      const ValueRange range = bounds_of_rows(sample);
      const at::Tensor bounds = at::stack({range.low, range.high}).to(at::kDouble);
      average_ = count_ == 0 ? bounds : average_ * ratio_ + bounds * (1 - ratio_);
      if (count_ == 0) first_ = bounds;
      ++count_;
    }
  }

  /// As if its samples came after these: its first one counts 1 - ratio then, not 1.
  void add_seen_by(const Observer& other) override {
    const auto& seen = static_cast<const MovingAverage&>(other);
    if (count_ == 0) {
      average_ = seen.average_;
      first_ = seen.first_;
    } else {
      const double left = std::pow(ratio_, static_cast<double>(seen.count_));
      average_ = average_ * left + seen.average_ - seen.first_ * left;
    }
    count_ += seen.count_;
  }

  ValueRange found() const override { return {shaped(average_[0]), shaped(average_[1])}; }

  double ratio_;
  at::Tensor average_, first_;  // [low and high, rows], float64
  int64_t count_ = 0;
};

}  // namespace

ObserverPtr make_moving_average(const QuantSpec& spec, const ObserverConfig& config) {
  SPARSEBIT_CHECK(spec.target == Target::Feature, InvalidArgument,
                  "moving_average is for features only");
  return std::make_unique<MovingAverage>(spec, config.ema_ratio);
}

}  // namespace sparsebit::quant
