#include "quant/quantizers/all_quantizers.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// Quantizes tanh(x) / max|tanh(x)|, which is between -1 and 1 whatever x is. Of weights the
/// largest is looked up each time, since they change; of features it is what calibration saw, so
/// that a sample's result does not depend on its batch.
class DoReFa : public CloneableQuantizer<DoReFa> {
 public:
  DoReFa(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.DoReFa", spec, config) {
    add_buffer("largest", at::zeros({}));
  }

 private:
  at::Tensor seen_as(const at::Tensor& x) override {
    const at::Tensor squeezed = at::tanh(x);
    const at::Tensor most = squeezed.numel() > 0 ? squeezed.abs().max() : at::zeros({});
    add_buffer("largest", at::maximum(*find_tensor("largest"), most.to(at::kFloat)));
    return squeezed;
  }

  /// Ranges grow with what they are ranges of, so it is enough to divide in the end.
  QParams find_qparams() override {
    const ValueRange range = observer().range();
    const at::Tensor divisor = largest();
    return qparams_from_range(range.low / divisor, range.high / divisor, spec());
  }

  at::Tensor simulate(const at::Tensor& x) override {
    const at::Tensor squeezed = at::tanh(x);
    const at::Tensor divisor = spec().target == Target::Weight
                                   ? squeezed.detach().abs().max().clamp_min(kLeastScale)
                                   : largest();
    return fake_quant(squeezed / divisor, qparams(), spec());
  }

  at::Tensor largest() const { return find_tensor("largest")->clamp_min(kLeastScale); }
};

}  // namespace

QuantizerPtr make_dorefa(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<DoReFa>(spec, config);
}

}  // namespace sparsebit::quant
