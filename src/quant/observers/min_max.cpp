#include "quant/observers/all_observers.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

class MinMax : public Observer {
 public:
  using Observer::Observer;

 private:
  void add(const at::Tensor& x) override {
    const ValueRange bounds = bounds_of_rows(x);
    extend(bounds.low, bounds.high);
  }

  void add_seen_by(const Observer& other) override {
    const auto& seen = static_cast<const MinMax&>(other);
    extend(seen.low_, seen.high_);
  }

  ValueRange found() const override { return {shaped(low_), shaped(high_)}; }

  void extend(const at::Tensor& low, const at::Tensor& high) {
    low_ = low_.defined() ? at::minimum(low_, low) : low.clone();
    high_ = high_.defined() ? at::maximum(high_, high) : high.clone();
  }

  at::Tensor low_, high_;  // by row
};

}  // namespace

ObserverPtr make_min_max(const QuantSpec& spec, const ObserverConfig&) {
  return std::make_unique<MinMax>(spec);
}

}  // namespace sparsebit::quant
