#include "quant/quantizers/all_quantizers.h"
#include "quant/quantizers/given_slope.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::quant {
namespace {

/// Differentiable soft quantization (Gong et al., 2019): rounds as usual, but the gradient is that
/// of rounding steps approximated by tanh. With t = 1 / (1 - alpha), k = ln((t + 1) / (t - 1)) and
/// u = x / scale + zero_point, the slope is t / 2 * k * (1 - tanh^2(k * (u - floor(u) - 1/2))): the
/// smaller alpha, the more the slope is concentrated in the middle between two integers.
class Dsq : public CloneableQuantizer<Dsq> {
 public:
  Dsq(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.Dsq", spec, config),
        height_(1 / (1 - config.quantizer.dsq_alpha)),
        steepness_(std::log((height_ + 1) / (height_ - 1))) {}

  bool is_scale_free() const override { return !spec().pot_scale; }

  bool needs_training() const override { return true; }

 private:
  at::Tensor simulate(const at::Tensor& x) const override {
    const at::Tensor result = fake_quant(x.detach(), qparams(), spec());
    return needs_slope(x) ? with_slope(x, result, slope_at(x.detach())) : result;
  }

  at::Tensor slope_at(const at::Tensor& x) const {
    const at::Tensor steps =
        x / spread_over(qparams().scale, x, spec()) + spread_over(qparams().zero_point, x, spec());
    const at::Tensor inside = steps.ge(spec().qmin()).logical_and(steps.le(spec().qmax()));
    const at::Tensor bend = at::tanh(steepness_ * (steps - at::floor(steps) - 0.5));
    return height_ / 2 * steepness_ * (1 - bend.square()) * inside;
  }

  double height_, steepness_;  // t and k
};

}  // namespace

QuantizerPtr make_dsq(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Dsq>(spec, config);
}

}  // namespace sparsebit::quant
