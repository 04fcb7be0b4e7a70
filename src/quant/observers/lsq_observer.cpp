#include "quant/observers/all_observers.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::quant {
namespace {

/// The initial scale of learned step sizes, from the last batch: 2 * mean|x| / sqrt(qmax). With a
/// zero point, the minimum maps to the lowest integer.
class LsqObserver : public Observer {
 public:
  using Observer::Observer;

  bool depends_on_order() const override { return true; }

 private:
  void add(const at::Tensor& x) override {
    smallest_ = bounds_of_rows(x).low;
    magnitude_ = rows_of(x).abs().mean(1, false, at::kDouble);
  }

  void add_seen_by(const Observer& other) override {
    const auto& later = static_cast<const LsqObserver&>(other);
    smallest_ = later.smallest_;
    magnitude_ = later.magnitude_;
  }

  QParams found_qparams() const override {
    const double root = std::sqrt(static_cast<double>(spec().qmax()));
    const at::Tensor scale = rounded_scale(shaped(2 * magnitude_ / root), spec());
    if (spec().is_symmetric()) return {scale, at::zeros_like(scale)};
    const at::Tensor zero_point = spec().qmin() - at::round(shaped(smallest_) / scale);
    return {scale, zero_point.clamp(spec().qmin(), spec().qmax())};
  }

  ValueRange found() const override { return range_of(found_qparams()); }

  at::Tensor smallest_, magnitude_;  // by row
};

}  // namespace

ObserverPtr make_lsq_observer(const QuantSpec& spec, const ObserverConfig&) {
  return std::make_unique<LsqObserver>(spec);
}

}  // namespace sparsebit::quant
