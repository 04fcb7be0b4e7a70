#include "sparsebit/quant/quantized_graph.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/dead_code.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>

namespace sparsebit::quant {
namespace {

using fx::Node;

constexpr std::string_view kQuantize = "onnx.QuantizeLinear";
constexpr std::string_view kDequantize = "onnx.DequantizeLinear";

/// Whether it is an operator of ONNX or ONNX Runtime with integer inputs or outputs.
bool computes_with_integers(std::string_view target) {
  static const std::set<std::string_view> kOthers = {
      "QGemm", "QAttention", "ConvInteger", "MatMulInteger", "MatMulNBits", "MatMulIntegerToFloat"};
  const std::string_view type = target.substr(target.rfind('.') + 1);
  const bool is_contributed = target.starts_with("com.microsoft.") &&
                              (type == "QuantizeLinear" || type == "DequantizeLinear");
  return type.starts_with("QLinear") || type.starts_with("DynamicQuantize") ||
         kOthers.contains(type) || is_contributed;
}

/// The tensor of an argument if it is constant, else null.
const at::Tensor* constant_of(const fx::GraphModule& module, const fx::Value& value) {
  if (value.is_tensor()) return &value.tensor();
  const bool is_constant = value.is_node() && value.node().op() == fx::Opcode::GetAttr;
  return is_constant ? module.find_tensor(value.node().target()) : nullptr;
}

/// The smallest and largest integer of this type.
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

/// The upper bound of a QuantizeLinear that clips at 0 below and so may replace a relu or relu6
/// that is not in the graph any more; nullopt for others.
std::optional<double> end_of_relu(const fx::GraphModule& module, const Node& quantize) {
  const auto& args = quantize.args();
  const at::Tensor* scale = args.size() > 1 ? constant_of(module, args[1]) : nullptr;
  if (!scale || scale->numel() != 1) return std::nullopt;
  const bool has_zero = args.size() > 2 && !args[2].is_none();
  const at::Tensor* zero = has_zero ? constant_of(module, args[2]) : nullptr;
  if (has_zero && (!zero || zero->numel() != 1)) return std::nullopt;
  const auto [low, high] = limits_of(zero ? zero->scalar_type() : at::kByte);  // default of ONNX
  const double at_zero = zero ? zero->item<double>() : 0;
  return at_zero == low ? std::optional((high - at_zero) * scale->item<double>()) : std::nullopt;
}

/// Replaces a QuantizeLinear by its float input, or by a clamp if it may have replaced a relu.
void remove_rounding(fx::GraphModule& module, Node& quantize) {
  const fx::Value input = quantize.args().front();
  const bool is_computed = input.is_node() && input.node().op() != fx::Opcode::Placeholder &&
                           input.node().op() != fx::Opcode::GetAttr;
  const std::optional<double> end = is_computed ? end_of_relu(module, quantize) : std::nullopt;
  if (!end) {
    quantize.replace_all_uses_with(input.node());
    return;
  }
  quantize.set_call(fx::Opcode::CallFunction, "torch.clamp", {input, 0.0, *end});
  quantize.set_tensor_info(input.node().tensor_info());
}

/// Replaces a DequantizeLinear of a constant weight by the float weight.
void fold(fx::GraphModule& module, Node& dequantize) {
  const std::optional<fx::OperatorCall> call = fx::resolve(dequantize, module);
  if (!call) return;
  std::vector<fx::Value> values;
  for (const fx::Value& value : call->args.values()) {
    const at::Tensor* constant = constant_of(module, value);
    if (!constant && value.is_node()) return;  // a scale that is computed
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

/// Whether the operator only moves elements, regardless of their values.
bool moves_elements(const Node& node, const fx::GraphModule& module) {
  static const std::set<std::string> kMoving = {"cat",        "stack",        "roll",      "gather",
                                                "flip",       "index_select", "getitem",   "clone",
                                                "max_pool1d", "max_pool2d",   "max_pool3d"};
  static const std::set<std::string> kConverting = {"to", "type", "getattr"};
  const fx::Spelling* spelling = fx::find_spelling(node, module);
  if (!spelling) return false;
  const std::string& row = spelling->op->row();
  return kMoving.contains(row) || (spelling->op->view && !kConverting.contains(row));
}

/// The integer values between QuantizeLinear and DequantizeLinear, which become floats when the
/// pair is removed. Throws Unsupported if a node computes with the integers.
std::unordered_set<const Node*> integers_of_pairs(fx::GraphModule& module) {
  std::unordered_set<const Node*> integers;
  for (Node& node : module.graph().nodes()) {
    if (node.target() == kQuantize) integers.insert(&node);
    const auto& inputs = node.inputs();
    const auto read = std::find_if(inputs.begin(), inputs.end(),
                                   [&](const Node* input) { return integers.contains(input); });
    if (read == inputs.end() || node.target() == kDequantize) continue;
    SPARSEBIT_CHECK(moves_elements(node, module), Unsupported,
                    "its quantization cannot be removed: '", node.shown_name(),
                    "' reads the integers of '", (*read)->shown_name(), "'");
    integers.insert(&node);
  }
  return integers;
}

}  // namespace

QuantizedParts quantized_parts(const fx::GraphModule& module) {
  QuantizedParts parts;
  for (const Node& node : module.graph().nodes()) {
    if (node.op() != fx::Opcode::CallFunction) continue;
    parts.activations += node.target() == kQuantize;
    parts.weights += node.target() == kDequantize && !node.args().empty() &&
                     constant_of(module, node.args().front()) != nullptr;
    const std::string type = node.target().substr(node.target().rfind('.') + 1);
    const auto& known = parts.operators;
    if (computes_with_integers(node.target()) &&
        std::find(known.begin(), known.end(), type) == known.end())
      parts.operators.push_back(type);
  }
  return parts;
}

void remove_quantization(fx::GraphModule& module) {
  const QuantizedParts parts = quantized_parts(module);
  SPARSEBIT_CHECK(parts.operators.empty(), Unsupported, "it has integer operators such as ",
                  parts.operators.front(),
                  "; only pairs of QuantizeLinear and DequantizeLinear can be removed");
  const std::unordered_set<const Node*> integers = integers_of_pairs(module);
  for (Node* node : module.graph().node_list()) {
    if (integers.contains(node)) node->set_tensor_info(std::nullopt);
    if (node->target() != kDequantize || node->args().empty()) continue;
    const fx::Value input = node->args().front();
    if (input.is_node() && integers.contains(&input.node())) {
      node->replace_all_uses_with(input.node());
    } else if (constant_of(module, input)) {
      fold(module, *node);
    }
  }
  for (Node* node : module.graph().node_list()) {
    if (node->target() == kQuantize) remove_rounding(module, *node);
  }
  fx::eliminate_dead_code(module);
  fx::drop_unused_state(module);
}

}  // namespace sparsebit::quant
