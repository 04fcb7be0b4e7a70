#include "sparsebit/quant/regions/node_parts.h"

#include "sparsebit/quant/quantizers/quant_point.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::quant {

using fx::Node;

const Node* part_of(const Node& node) {
  const bool gets_item = node.target() == "operator.getitem" && node.args().size() == 2 &&
                         node.args()[0].is_node() && node.args()[1].is_int();
  if (!gets_item) return nullptr;
  const Node& tuple = node.args()[0].node();
  return tuple.tensor_info() ? nullptr : &tuple;
}

const Node& source_of(const Node& value) {
  const Node* tuple = part_of(value);
  return tuple ? *tuple : value;
}

std::vector<Node*> results_of(Node& node) {
  std::vector<Node*> parts;
  for (Node* user : node.users()) {
    if (part_of(*user) == &node) parts.push_back(user);
  }
  return parts.empty() ? std::vector<Node*>{&node} : parts;
}

bool is_call(const Node& node) {
  return node.op() == fx::Opcode::CallFunction || node.op() == fx::Opcode::CallMethod ||
         node.op() == fx::Opcode::CallModule;
}

bool may_be_floats(const Node& value) {
  const auto& info = value.tensor_info();
  return !info || at::isFloatingType(info->dtype);
}

bool gives_floats(const Node& node) {
  if (node.tensor_info()) return may_be_floats(node);
  const bool is_tuple = std::any_of(node.users().begin(), node.users().end(),
                                    [&](const Node* user) { return part_of(*user) == &node; });
  const auto recorded = [](const Node* input) { return input->tensor_info().has_value(); };
  const auto& inputs = node.inputs();
  return is_tuple || inputs.empty() || !std::all_of(inputs.begin(), inputs.end(), recorded);
}

bool is_constant(const fx::Value& value) {
  return value.is_tensor() || (value.is_node() && value.node().op() == fx::Opcode::GetAttr);
}

std::vector<std::pair<std::string, const fx::Value*>> integer_arguments(
    const fx::OperatorCall& call, const platforms::OperatorRule& rule) {
  std::vector<std::pair<std::string, const fx::Value*>> found;
  if (rule.form == platforms::IntegerForm::Lookup) return found;
  if (rule.inputs.empty())
    return {{call.op->schema.parameters().front().name, &call.args.values().front()}};
  for (const std::string& name : rule.inputs) {
    if (call.args.has(name)) found.emplace_back(name, &call.args[name]);
  }
  return found;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<int64_t> weight_shape(const fx::OperatorCall& call, const fx::GraphModule& module) {
  if (!call.op->weight) return {};
  const fx::Value& weight = call.args[call.op->weight->argument];
  if (weight.is_tensor()) return weight.tensor().sizes().vec();
  if (!weight.is_node()) return {};
  const Node* node = &weight.node();
  if (find_quantizer(module, *node)) node = node->inputs().front();
  const at::Tensor* tensor =
      node->op() == fx::Opcode::GetAttr ? module.find_tensor(node->target()) : nullptr;
  if (tensor) return tensor->sizes().vec();
  return node->tensor_info() ? node->tensor_info()->shape : std::vector<int64_t>();
}

std::vector<Node*> nodes_in(const fx::Value& value) {
  if (value.is_node()) return {&value.node()};
  std::vector<Node*> nodes;
  if (!value.is_sequence()) return nodes;
  for (const fx::Value& item : value.items()) {
    const std::vector<Node*> inside = nodes_in(item);
    nodes.insert(nodes.end(), inside.begin(), inside.end());
  }
  return nodes;
}

}  // namespace sparsebit::quant
