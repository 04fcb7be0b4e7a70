#include "sparsebit/quant/quantized_graph.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/dead_code.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

namespace sparsebit::quant {
namespace {

using fx::Node;

constexpr std::string_view kQuantize = "onnx.QuantizeLinear", kDequantize = "onnx.DequantizeLinear";

/// Operators of ONNX and ONNX Runtime that read or give integers instead of floats.
bool computes_with_integers(std::string_view type) {
  constexpr std::array<std::string_view, 6> kOthers = {
      "QGemm", "QAttention", "ConvInteger", "MatMulInteger", "MatMulNBits", "MatMulIntegerToFloat"};
  return type.starts_with("QLinear") || type.starts_with("DynamicQuantize") ||
         std::find(kOthers.begin(), kOthers.end(), type) != kOthers.end();
}

/// The tensor that an argument of a node is, if it is a constant of one element.
const at::Tensor* constant_of(const fx::GraphModule& module, const fx::Value& value) {
  if (value.is_tensor()) return &value.tensor();
  const bool is_constant = value.is_node() && value.node().op() == fx::Opcode::GetAttr;
  return is_constant ? module.find_tensor(value.node().target()) : nullptr;
}

/// What rounding to integers of this type can hold.
std::pair<double, double> limits_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kByte:
      return {0, 255};
    case at::kChar:
      return {-128, 127};
    default:
      return {-32768, 32767};
  }
}

/// Rounding that cuts off below 0 takes the place of a relu or relu6, which is nowhere else then.
bool becomes_clamp(const fx::GraphModule& module, Node& quantize) {
  const auto& args = quantize.args();
  const fx::Value& input = args.front();
  if (args.size() < 3 || (input.is_node() && input.node().op() == fx::Opcode::Placeholder))
    return false;
  const at::Tensor *scale = constant_of(module, args[1]), *zero = constant_of(module, args[2]);
  if (!scale || !zero || scale->numel() != 1 || zero->numel() != 1) return false;
  const auto [low, high] = limits_of(zero->scalar_type());
  const double at_zero = zero->item<double>();
  if (at_zero != low) return false;
  quantize.set_call(fx::Opcode::CallFunction, "torch.clamp",
                    {input, 0.0, (high - at_zero) * scale->item<double>()});
  return true;
}

/// A weight as the floats that its integers stand for.
void fold(fx::GraphModule& module, Node& dequantize) {
  const std::optional<fx::OperatorCall> call = fx::resolve(dequantize, module);
  std::vector<fx::Value> values;
  for (const fx::Value& value : call->args.values()) {
    const at::Tensor* constant = constant_of(module, value);
    values.push_back(constant ? fx::Value(*constant) : value);
  }
  const at::Tensor weight =
      fx::run_kernel(*call->op, fx::Args(call->op->schema, std::move(values))).tensor();
  std::string path = dequantize.name() + "_float";
  module.add_parameter(path, weight);
  const fx::Graph::InsertPoint here = module.graph().inserting_before(dequantize);
  Node& constant = module.graph().get_attr(path);
  constant.set_tensor_info(fx::TensorInfo{weight.sizes().vec(), weight.scalar_type()});
  dequantize.replace_all_uses_with(constant);
}

bool has_small_integers(const Node& node) {
  const auto& info = node.tensor_info();
  return info && (info->dtype == at::kByte || info->dtype == at::kChar ||
                  info->dtype == at::kShort || info->dtype == at::kInt);
}

}  // namespace

QuantizedParts quantized_parts(const fx::GraphModule& module) {
  QuantizedParts parts;
  for (const Node& node : module.graph().nodes()) {
    if (node.op() != fx::Opcode::CallFunction) continue;
    parts.pairs += node.target() == kQuantize;
    const std::string type = node.target().substr(node.target().rfind('.') + 1);
    const auto& known = parts.operators;
    if (computes_with_integers(type) && std::find(known.begin(), known.end(), type) == known.end())
      parts.operators.push_back(type);
  }
  return parts;
}

void remove_quantization(fx::GraphModule& module) {
  const QuantizedParts parts = quantized_parts(module);
  SPARSEBIT_CHECK(parts.operators.empty(), Unsupported, "it has operators that compute with ",
                  "integers, such as ", parts.operators.front(),
                  ", and only pairs of QuantizeLinear and DequantizeLinear can be removed");
  // Between the two nodes of a pair, reshapes and poolings move integers as they would floats.
  std::unordered_set<const Node*> integers;
  for (Node* node : module.graph().node_list()) {
    const auto& inputs = node->inputs();
    const bool reads_integers = std::any_of(
        inputs.begin(), inputs.end(), [&](const Node* input) { return integers.contains(input); });
    if (node->target() == kDequantize) {
      if (reads_integers) {
        node->replace_all_uses_with(node->args().front().node());
      } else if (constant_of(module, node->args().front())) {
        fold(module, *node);
      }
    } else if (node->target() == kQuantize) {
      integers.insert(node);
    } else if (reads_integers && has_small_integers(*node)) {
      integers.insert(node);
      node->set_tensor_info(std::nullopt);  // it has floats from now on
    }
  }
  for (Node* node : module.graph().node_list()) {
    if (node->target() == kQuantize && !becomes_clamp(module, *node))
      node->replace_all_uses_with(node->args().front().node());
  }
  fx::eliminate_dead_code(module);
  fx::drop_unused_state(module);
}

}  // namespace sparsebit::quant
