#include "quant/observers/moments.h"
#include "quant/quantizers/all_quantizers.h"
#include "quant/quantizers/scaled_gradient.h"

#include "sparsebit/core/log.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// Learned step size (Esser et al., 2020): the scale starts at 2 * mean|x| / sqrt(qmax).
class Lsq : public CloneableQuantizer<Lsq> {
 public:
  Lsq(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.Lsq", spec, config, make_mean_magnitude) {}

  bool is_scale_free() const override { return true; }

  bool needs_training() const override { return true; }

 private:
  bool trains_scale() const override { return true; }

  QParams find_qparams() override {
    const ValueRange range = observer().range();  // minimum, mean magnitude
    if (!spec().is_symmetric() && range.low.lt(0).any().item<bool>()) become_symmetric();
    const double root = std::sqrt(static_cast<double>(spec().qmax()));
    const at::Tensor scale = (2 * range.high / root).clamp_min(kLeastScale);
    return {scale, at::zeros_like(scale)};
  }

  void become_symmetric() {
    QuantSpec signed_spec = spec();
    signed_spec.scheme.symmetry = Symmetry::Symmetric;
    signed_spec.range.reset();
    set_spec(signed_spec);
    log_warning("lsq has no zero point, but there are negative values: using {} instead",
                to_string(spec().scheme));
  }

  at::Tensor simulate(const at::Tensor& x) const override {
    const auto [scale, zero_point] = qparams();
    const double factor = lsq_factor(x, scale, spec().qmax(), config().quantizer);
    return fake_quant(x, {with_gradient_times(scale.abs(), factor), zero_point}, spec());
  }
};

}  // namespace

QuantizerPtr make_lsq(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Lsq>(spec, config);
}

}  // namespace sparsebit::quant
