#include "quant/quantizers/all_quantizers.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// Clips at a trained limit, which gets the gradient where x is clipped. Signed values are clipped
/// at both ends.
class Pact : public CloneableQuantizer<Pact> {
 public:
  Pact(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.Pact", spec, config) {
    SPARSEBIT_CHECK(
        spec.scale_bits == 0, InvalidArgument,
        "QUANTIZER.SCALE_BITS cannot be combined with pact, whose scale follows from its limit");
    add_parameter("alpha", at::full({1}, config.quantizer.pact_alpha, at::kFloat));
  }

  QParams qparams() const override { return qparams_of_limit(); }

  bool needs_training() const override { return true; }

 private:
  QParams find_qparams() override {
    observer().range();  // throws if no data was seen
    return qparams_of_limit();
  }

  at::Tensor simulate(const at::Tensor& x) const override {
    const at::Tensor alpha = find_tensor("alpha")->squeeze(0).to(x.scalar_type());
    const at::Tensor zero = at::zeros_like(alpha);
    const at::Tensor cut = at::maximum(at::minimum(x, alpha), is_signed() ? -alpha : zero);
    // Straight-through: the gradient of rounding is 1 everywhere, also at the limit, where
    // fake_quant() would have a gradient of 0.
    const at::Tensor rounded = fake_quant(cut.detach(), qparams_of_limit(), spec());
    return cut + (rounded - cut).detach();
  }

  bool is_signed() const { return spec().qmin() < 0; }

  QParams qparams_of_limit() const {
    const at::Tensor alpha = find_tensor("alpha")->detach().abs().squeeze(0);
    return qparams_from_range(is_signed() ? -alpha : at::zeros_like(alpha), alpha, spec());
  }
};

}  // namespace

QuantizerPtr make_pact(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Pact>(spec, config);
}

}  // namespace sparsebit::quant
