#include "frontends/onnx/carried.h"

#include "frontends/onnx/attributes.h"
#include "frontends/onnx/graph_builder.h"

#include "sparsebit/core/error.h"

#include <unordered_set>

namespace sparsebit::frontends {
namespace {

using fx::Value;

/// Walks the subgraphs of a node and notes names that none of them defines.
class CaptureFinder {
 public:
  void visit(const onnx::NodeProto& node) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) visit(attribute.g());
      for (const onnx::GraphProto& graph : attribute.graphs()) visit(graph);
    }
  }

  std::vector<std::string> take() { return std::move(captured_); }

 private:
  void visit(const onnx::GraphProto& graph) {
    std::vector<std::string> defined_here;
    const auto define = [&](const std::string& name) {
      if (inner_.insert(name).second) defined_here.push_back(name);
    };
    for (const auto& input : graph.input()) define(input.name());
    for (const auto& tensor : graph.initializer()) define(tensor.name());
    for (const auto& tensor : graph.sparse_initializer()) define(tensor.values().name());
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& name : node.input()) use(name);
      visit(node);
      for (const std::string& name : node.output()) define(name);
    }
    for (const auto& output : graph.output()) use(output.name());
    for (const std::string& name : defined_here) inner_.erase(name);
  }

  void use(const std::string& name) {
    if (name.empty() || inner_.contains(name)) return;
    if (seen_.insert(name).second) captured_.push_back(name);
  }

  std::unordered_set<std::string> inner_;  // defined by the graphs around the current place
  std::unordered_set<std::string> seen_;
  std::vector<std::string> captured_;
};

std::string target_of(const onnx::NodeProto& node) {
  const bool is_default = node.domain().empty() || node.domain() == "ai.onnx";
  return "onnx." + (is_default ? "" : node.domain() + ".") + node.op_type();
}

}  // namespace

std::vector<std::string> captured_names(const onnx::NodeProto& node) {
  CaptureFinder finder;
  finder.visit(node);
  return finder.take();
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
