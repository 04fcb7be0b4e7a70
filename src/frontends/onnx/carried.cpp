#include "frontends/onnx/carried.h"

#include "frontends/onnx/attributes.h"
#include "frontends/onnx/graph_builder.h"

#include "sparsebit/core/error.h"

#include <set>

namespace sparsebit::frontends {
namespace {

using fx::Value;

void collect_captures(const onnx::GraphProto& graph, std::set<std::string> inner,
                      std::vector<std::string>& captured);

void collect_captures(const onnx::NodeProto& node, const std::set<std::string>& inner,
                      std::vector<std::string>& captured) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_captures(attribute.g(), inner, captured);
    for (const onnx::GraphProto& graph : attribute.graphs()) {
      collect_captures(graph, inner, captured);
    }
  }
}

/// @param inner  names defined by the graphs around this one, up to the node.
void collect_captures(const onnx::GraphProto& graph, std::set<std::string> inner,
                      std::vector<std::string>& captured) {
  const auto use = [&](const std::string& name) {
    const bool known = std::find(captured.begin(), captured.end(), name) != captured.end();
    if (!name.empty() && !inner.contains(name) && !known) captured.push_back(name);
  };
  for (const auto& input : graph.input()) inner.insert(input.name());
  for (const auto& tensor : graph.initializer()) inner.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) inner.insert(tensor.values().name());
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& name : node.input()) use(name);
    collect_captures(node, inner, captured);
    inner.insert(node.output().begin(), node.output().end());
  }
  for (const auto& output : graph.output()) use(output.name());
}

std::string target_of(const onnx::NodeProto& node) {
  const bool is_default = node.domain().empty() || node.domain() == "ai.onnx";
  return "onnx." + (is_default ? "" : node.domain() + ".") + node.op_type();
}

}  // namespace

std::vector<std::string> captured_names(const onnx::NodeProto& node) {
  std::vector<std::string> captured;
  collect_captures(node, {}, captured);
  return captured;
}

void carry_unchanged(GraphBuilder& builder, const onnx::NodeProto& node, int64_t opset,
                     const std::string& reason) {
  const std::vector<std::string> captures = captured_names(node);
  std::vector<std::string> names(node.input().begin(), node.input().end());
  names.insert(names.end(), captures.begin(), captures.end());
  std::vector<Value> args;
  for (const std::string& name : names) {
    const Operand* operand = name.empty() ? nullptr : builder.find(name);
    SPARSEBIT_CHECK(name.empty() || operand, InvalidModel, "reads '", name,
                    "', which nothing computes");
    args.push_back(operand ? builder.as_tensor(*operand) : Value());
  }

  fx::Kwargs kwargs;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    kwargs.emplace_back(attribute.name(), carried_attribute(attribute, builder.external()));
  }
  kwargs.emplace_back("_opset", opset);
  kwargs.emplace_back("_outputs", int64_t{node.output_size()});
  if (!captures.empty()) {
    fx::List list;
    for (const std::string& name : captures) list.items.emplace_back(name);
    kwargs.emplace_back("_captures", list);
  }
  if (!reason.empty()) kwargs.emplace_back("_reason", reason);

  fx::Node& carried =
      builder.call(fx::Opcode::CallFunction, target_of(node), std::move(args), std::move(kwargs));
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    fx::Node& result =
        node.output_size() == 1
            ? carried
            : builder.call(fx::Opcode::CallFunction, "operator.getitem", {carried, int64_t{i}}, {});
    builder.define(node.output(i), Value(result));
  }
}

}  // namespace sparsebit::frontends
