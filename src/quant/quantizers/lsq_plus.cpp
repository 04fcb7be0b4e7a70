#include "quant/observers/moments.h"
#include "quant/quantizers/all_quantizers.h"
#include "quant/quantizers/scaled_gradient.h"

#include "sparsebit/core/error.h"

namespace sparsebit::quant {
namespace {

/// LSQ+ (Bhalgat et al., 2020). Per channel it is symmetric, with an initial range of three
/// standard deviations; per tensor it is affine, with the observer's range, and also trains the
/// zero point.
class LsqPlus : public CloneableQuantizer<LsqPlus> {
 public:
  LsqPlus(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.LsqPlus", spec, config,
                           spec.is_per_channel() ? ObserverFactory(make_three_sigma)
                                                 : ObserverFactory(make_observer)) {
    SPARSEBIT_CHECK(spec.is_per_channel() == spec.is_symmetric(), InvalidArgument,
                    "lsq+ must be per-channel-symmetric or per-tensor-affine, not ",
                    to_string(spec.scheme));
  }

  bool is_scale_free() const override { return true; }

  bool needs_training() const override { return true; }

 private:
  bool trains_scale() const override { return true; }
  bool trains_zero_point() const override { return !spec().is_per_channel(); }

  at::Tensor simulate(const at::Tensor& x) const override {
    const auto [scale, zero_point] = qparams();
    const double factor = lsq_factor(x, scale, spec().qmax(), config().quantizer);
    const at::Tensor clamped = zero_point.clamp(spec().qmin(), spec().qmax());
    return fake_quant(
        x, {with_gradient_times(scale.abs(), factor), with_gradient_times(clamped, factor)},
        spec());
  }
};

}  // namespace

QuantizerPtr make_lsq_plus(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<LsqPlus>(spec, config);
}

}  // namespace sparsebit::quant
