#include "quant/quantizers/all_quantizers.h"

#include "sparsebit/core/error.h"
#include "sparsebit/quant/quantizers/adaround.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

constexpr double kStretchHigh = 1.1, kStretchLow = -0.1;

/// Numbers for each scale against which the weight divides.
QParams wide(const QParams& qparams, int64_t rank) {
  if (qparams.scale.dim() != 1) return qparams;
  std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
  shape[0] = -1;
  return {qparams.scale.view(shape), qparams.zero_point.view(shape)};
}

}  // namespace

Adaround::Adaround(const QuantSpec& spec, const TensorConfig& config)
    : Quantizer("quant.Adaround", spec, config) {
  SPARSEBIT_CHECK(spec.target == Target::Weight && spec.group_size == 0 && spec.channel_axis == 0,
                  InvalidArgument,
                  "adaround is for weights whose channels are first, without groups");
}

fx::ModulePtr Adaround::shallow_copy() const { return std::make_shared<Adaround>(*this); }

void Adaround::start(const at::Tensor& weight) {
  const at::Tensor position = weight.detach() / wide(qparams(), weight.dim()).scale;
  const at::Tensor rest = position - at::floor(position);
  add_parameter("v", -at::log((kStretchHigh - kStretchLow) / (rest - kStretchLow) - 1));
}

at::Tensor Adaround::share_up() const {
  const at::Tensor* v = find_tensor("v");
  SPARSEBIT_CHECK(v, InvalidArgument, "the rounding is not learned yet; call start() first");
  const at::Tensor stretched = at::sigmoid(*v) * (kStretchHigh - kStretchLow) + kStretchLow;
  return stretched.clamp(0, 1);
}

at::Tensor Adaround::simulate(const at::Tensor& x) {
  if (!find_tensor("v")) return fake_quant(x, qparams(), spec());
  const auto [scale, zero_point] = wide(qparams(), x.dim());
  const at::Tensor up = is_training() ? share_up() : find_tensor("v")->ge(0).to(x.scalar_type());
  const at::Tensor q =
      at::clamp(at::floor(x / scale) + up + zero_point, spec().qmin(), spec().qmax());
  return (q - zero_point) * scale;
}

QuantizerPtr make_adaround(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Adaround>(spec, config);
}

}  // namespace sparsebit::quant
