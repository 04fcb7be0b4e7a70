#include "quant/quantizers/all_quantizers.h"

#include "sparsebit/core/error.h"
#include "sparsebit/quant/quantizers/adaround.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

constexpr double kStretchHigh = 1.1, kStretchLow = -0.1;

}  // namespace

Adaround::Adaround(const QuantSpec& spec, const TensorConfig& config)
    : Quantizer("quant.Adaround", spec, config) {
  SPARSEBIT_CHECK(spec.target == Target::Weight, InvalidArgument, "adaround is for weights only");
}

fx::ModulePtr Adaround::shallow_copy() const { return std::make_shared<Adaround>(*this); }

void Adaround::start(const at::Tensor& weight) {
  const at::Tensor position = weight.detach() / spread_over(qparams().scale, weight, spec());
  const at::Tensor rest = position - at::floor(position);
  add_parameter("v", -at::log((kStretchHigh - kStretchLow) / (rest - kStretchLow) - 1));
}

at::Tensor Adaround::share_up() const {
  const at::Tensor* v = find_tensor("v");
  SPARSEBIT_CHECK(v, InvalidArgument, "adaround has not started; call start() first");
  const at::Tensor stretched = at::sigmoid(*v) * (kStretchHigh - kStretchLow) + kStretchLow;
  return stretched.clamp(0, 1);
}

at::Tensor Adaround::simulate(const at::Tensor& x) const {
  if (!find_tensor("v")) return fake_quant(x, qparams(), spec());
  const at::Tensor scale = spread_over(qparams().scale, x, spec());
  const at::Tensor zero_point = spread_over(qparams().zero_point, x, spec());
  const at::Tensor up = is_training() ? share_up() : find_tensor("v")->ge(0).to(x.scalar_type());
  const at::Tensor q =
      at::clamp(at::floor(x / scale) + up + zero_point, spec().qmin(), spec().qmax());
  return (q - zero_point) * scale;
}

QuantizerPtr make_adaround(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Adaround>(spec, config);
}

}  // namespace sparsebit::quant
