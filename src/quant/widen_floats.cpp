#include "sparsebit/quant/widen_floats.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::quant {
namespace {

using fx::Node;
using fx::Value;

bool is_narrow(at::ScalarType dtype) { return dtype == at::kHalf || dtype == at::kBFloat16; }

bool is_narrow(const Node& node) {
  return node.tensor_info() && is_narrow(node.tensor_info()->dtype);
}

void widen_tensors(fx::GraphModule& module) {
  for (const auto& tensors : {module.named_parameters(), module.named_buffers()}) {
    for (const auto& item : tensors) {
      if (is_narrow(item.value().scalar_type()))
        module.set_tensor(item.key(), item.value().detach().to(at::kFloat));
    }
  }
}

/// Replaces narrow dtype arguments, of casts and of tensor factories.
Value widened(const Value& value) {
  return value.map_items([](const Value& item) {
    const bool narrow = item.is<at::ScalarType>() && is_narrow(item.dtype());
    return narrow ? Value(at::kFloat) : item;
  });
}

void widen_call(Node& node) {
  if (node.op() == fx::Opcode::CallMethod &&
      (node.target() == "half" || node.target() == "bfloat16"))
    node.set_target("float");
  std::vector<Value> args;
  for (const Value& arg : node.args()) args.push_back(widened(arg));
  fx::Kwargs kwargs;
  for (const auto& [name, value] : node.kwargs()) kwargs.emplace_back(name, widened(value));
  node.set_args(std::move(args));
  node.set_kwargs(std::move(kwargs));
}

void cast_input(fx::Graph& graph, Node& input, Node& last) {
  const fx::Graph::InsertPoint here = graph.inserting_after(last);
  Node& wide = graph.call_method("to", {input, at::kFloat});
  input.replace_all_uses_with(wide);
}

void cast_outputs(fx::Graph& graph, Node& output) {
  const fx::Graph::InsertPoint here = graph.inserting_before(output);
  const auto narrowed = [&](Node& result) -> Value {
    if (!is_narrow(result)) return result;
    Node& cast = graph.call_method("to", {result, result.tensor_info()->dtype});
    cast.inherit_origin(result);
    return cast;
  };
  auto [args, kwargs] = output.map_arguments(narrowed);
  output.set_args(std::move(args));
}

}  // namespace

bool widen_floats(fx::GraphModule& module, Interface interface) {
  fx::Graph& graph = module.graph();
  auto& nodes = graph.nodes();
  if (std::none_of(nodes.begin(), nodes.end(), [](const Node& node) { return is_narrow(node); }))
    return false;
  widen_tensors(module);
  for (Node& node : nodes) {
    if (node.op() != fx::Opcode::Placeholder && node.op() != fx::Opcode::Output) widen_call(node);
  }
  if (interface == Interface::Kept) {
    cast_outputs(graph, *graph.output_node());
    const std::vector<Node*> inputs = graph.placeholders();
    for (Node* input : inputs) {
      if (is_narrow(*input)) cast_input(graph, *input, *inputs.back());
    }
    return true;
  }
  for (Node& node : nodes) {
    if (!is_narrow(node)) continue;
    fx::TensorInfo info = *node.tensor_info();
    info.dtype = at::kFloat;
    node.set_tensor_info(std::move(info));
  }
  return true;
}

}  // namespace sparsebit::quant
