#include "quant/observers/all_observers.h"
#include "quant/observers/dpu_observer.h"

namespace sparsebit::quant {
namespace {

/// The power-of-two scale of the last batch.
class MinMaxFloor : public DpuObserver {
 public:
  using DpuObserver::DpuObserver;

  bool depends_on_order() const override { return true; }

 private:
  void add(const at::Tensor& x) override { last_ = exponent_of(x); }
  void add_seen_by(const Observer& other) override {
    last_ = static_cast<const MinMaxFloor&>(other).last_;
  }
  int exponent() const override { return last_; }

  int last_ = 0;
};

}  // namespace

ObserverPtr make_min_max_floor(const QuantSpec& spec, const ObserverConfig& config) {
  return std::make_unique<MinMaxFloor>(spec, config);
}

}  // namespace sparsebit::quant
