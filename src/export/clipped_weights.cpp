#include "sparsebit/export/clipped_weights.h"

#include "sparsebit/quant/quantizers/bias.h"

#include <ATen/ATen.h>

#include <map>
#include <string>

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

/// How many consumers each tensor has in the graph.
std::map<std::string, int> readers_of_tensors(const fx::GraphModule& module) {
  std::map<std::string, int> readers;
  for (const fx::Node& node : module.graph().nodes()) {
    if (node.op() == fx::Opcode::GetAttr)
      readers[node.target()] += static_cast<int>(node.users().size());
  }
  return readers;
}

/// Stores the corrected bias: in place of the bias if no other layer reads it.
void correct(fx::GraphModule& module, const quant::QuantPoint& point, bool is_shared) {
  const auto& quantizer = dynamic_cast<const quant::Bias&>(*point.quantizer);
  if (!quantizer.has_correction() || quantizer.is_off_for_good()) return;
  const at::Tensor corrected = quantizer.corrected(module.find_tensor(point.value)->detach());
  if (!is_shared) return module.set_tensor(point.value, corrected);
  const std::string path = point.name + "_corrected";
  module.add_buffer(path, corrected);
  fx::Node& reader = *module.graph().find(point.name);
  const fx::Graph::InsertPoint here = module.graph().inserting_before(reader);
  reader.replace_input_with(*reader.inputs().front(), module.graph().get_attr(path));
}

}  // namespace

std::shared_ptr<fx::GraphModule> with_clipped_weights(const quant::QuantModel& model) {
  const at::NoGradGuard no_gradients;
  auto copy = model.module().clone_graph_module();
  const std::map<std::string, int> readers = readers_of_tensors(*copy);
  for (const quant::QuantPoint& point : model.points()) {
    if (point.is_bias()) correct(*copy, point, readers.at(point.value) > 1);
    if (!point.is_weight() || point.quantizer->is_off_for_good()) continue;
    const at::Tensor* weight = copy->find_tensor(point.value);
    copy->set_tensor(point.value, clipped(*point.quantizer, *weight));
  }
  return copy;
}

}  // namespace sparsebit::exports
