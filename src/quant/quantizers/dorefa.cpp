#include "quant/quantizers/all_quantizers.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// Observes x and finds the range of tanh(x) / max|tanh(x)|.
class SqueezedObserver : public Observer {
 public:
  SqueezedObserver(const QuantSpec& spec, const ObserverConfig& config)
      : Observer(spec), inner_(make_observer(spec, config)) {}

  bool depends_on_order() const override { return inner_->depends_on_order(); }
  at::Tensor largest() const { return largest_.clamp_min(kLeastScale); }

 private:
  void add(const at::Tensor& x) override {
    const at::Tensor squeezed = at::tanh(x);
    inner_->observe(squeezed);
    largest_ = at::maximum(largest_, squeezed.abs().max());
  }
  void add_seen_by(const Observer& other) override {
    const auto& seen = static_cast<const SqueezedObserver&>(other);
    inner_->merge(*seen.inner_);
    largest_ = at::maximum(largest_, seen.largest_);
  }
  /// Ranges scale with the values, so dividing the range of tanh(x) is enough.
  ValueRange found() const override {
    const ValueRange range = inner_->range();
    return {range.low / largest(), range.high / largest()};
  }

  std::unique_ptr<Observer> inner_;
  at::Tensor largest_ = at::zeros({});
};

std::unique_ptr<Observer> make_squeezed_observer(const QuantSpec& spec,
                                                 const ObserverConfig& config) {
  return std::make_unique<SqueezedObserver>(spec, config);
}

/// Quantizes tanh(x) / max|tanh(x)|, which is between -1 and 1. For weights the maximum is computed
/// in each call, because training changes them; for activations it is that of calibration, so that
/// a sample's result does not depend on its batch.
class DoReFa : public CloneableQuantizer<DoReFa> {
 public:
  DoReFa(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.DoReFa", spec, config, make_squeezed_observer) {
    add_buffer("largest", at::ones({}));
  }

  std::optional<double> squeezes_by() const override {
    return find_tensor("largest")->item<double>();
  }

  bool needs_training() const override { return true; }

 private:
  QParams find_qparams() override {
    const QParams found = observer().qparams();
    add_buffer("largest", static_cast<SqueezedObserver&>(observer()).largest());
    return found;
  }

  at::Tensor simulate(const at::Tensor& x) const override {
    const at::Tensor squeezed = at::tanh(x);
    const at::Tensor divisor = spec().target == Target::Weight
                                   ? squeezed.detach().abs().max().clamp_min(kLeastScale)
                                   : find_tensor("largest")->to(x.scalar_type());
    return fake_quant(squeezed / divisor, qparams(), spec());
  }
};

}  // namespace

QuantizerPtr make_dorefa(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<DoReFa>(spec, config);
}

}  // namespace sparsebit::quant
