#include "sparsebit/export/clipped_weights.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {
namespace {

/// The values that the quantizer rounds: for dorefa, tanh of the weight scaled to [-1, 1].
at::Tensor rounded_by(const quant::Quantizer& quantizer, const at::Tensor& weight) {
  if (!quantizer.squeezes_by()) return weight;
  const at::Tensor squeezed = at::tanh(weight);
  return squeezed / squeezed.abs().max().clamp_min(quant::kLeastScale);
}

at::Tensor clipped(quant::Quantizer& quantizer, const at::Tensor& weight) {
  const quant::QuantSpec& spec = quantizer.spec();
  const quant::QParams found = quantizer.covering_qparams();
  if (!quantizer.has_uniform_steps()) {  // the vendor's tool rounds itself
    const at::Tensor largest = found.scale * static_cast<double>(spec.qmax());
    return at::minimum(at::maximum(weight.detach(), -largest), largest);
  }
  const at::Tensor scale = quant::spread_over(found.scale, weight, spec);
  const at::Tensor zero = quant::spread_over(found.zero_point, weight, spec);
  const auto value_of = [&](const auto& q) { return (q - zero) * scale; };
  const at::Tensor low = value_of(static_cast<double>(spec.qmin()));
  const at::Tensor high = value_of(static_cast<double>(spec.qmax()));
  const at::Tensor inside =
      at::minimum(at::maximum(rounded_by(quantizer, weight.detach()), low), high);
  const at::Tensor integers = quantizer.integers(weight).to(at::kFloat);
  const at::Tensor nearest = at::round(inside / scale) + zero;
  return at::where(nearest == integers, inside, value_of(integers));
}

}  // namespace

std::shared_ptr<fx::GraphModule> with_clipped_weights(const quant::QuantModel& model) {
  const at::NoGradGuard no_gradients;
  auto copy = model.module().clone_graph_module();
  for (const quant::QuantPoint& point : model.points()) {
    if (!point.is_weight() || point.quantizer->is_off_for_good()) continue;
    const at::Tensor* weight = copy->find_tensor(point.value);
    copy->set_tensor(point.value, clipped(*point.quantizer, *weight));
  }
  return copy;
}

}  // namespace sparsebit::exports
