#include "frontends/onnx/carried.h"

#include "frontends/onnx/attributes.h"
#include "frontends/onnx/domains.h"
#include "frontends/onnx/four_bit.h"
#include "frontends/onnx/graph_builder.h"
#include "frontends/onnx/naming.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_subgraphs.h"

#include <set>
#include <unordered_set>

namespace sparsebit::frontends {
namespace {

using fx::Value;

/// Walks the subgraphs of a node and collects names that none of them defines.
class CaptureFinder {
 public:
  void visit(const onnx::NodeProto& node) {
    io::for_each_graph(node, [this](const onnx::GraphProto& graph) { visit(graph); });
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
  return "onnx." + (io::is_default_domain(node.domain()) ? "" : node.domain() + ".") +
         node.op_type();
}

/// Domains of the operators in a node's subgraphs, sorted; the default one as "".
void collect_domains(const onnx::NodeProto& node, std::set<std::string>& domains) {
  io::for_each_graph(node, [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& inner : graph.node()) {
      domains.insert(io::is_default_domain(inner.domain()) ? "" : inner.domain());
      collect_domains(inner, domains);
    }
  });
}

/// An input of a carried node. 4-bit integers are one byte each in the graph, but the node expects
/// its original element type.
Value original_input(GraphBuilder& builder, const std::string& name, const OperatorSets& sets) {
  const Operand* operand = name.empty() ? nullptr : builder.find(name);
  SPARSEBIT_CHECK(name.empty() || operand, InvalidModel, "reads '", name,
                  "', which is not defined");
  if (!operand) return {};
  return packed(builder, name, builder.as_tensor(*operand), sets);
}

/// Facts that the exporter needs about a node besides its inputs and attributes.
void add_notes(fx::Kwargs& kwargs, const onnx::NodeProto& node, const OperatorSets& sets,
               const std::vector<std::string>& captures, const std::string& reason) {
  kwargs.emplace_back("_opset", sets.version(node.domain()));
  kwargs.emplace_back("_outputs", int64_t{node.output_size()});
  if (node.op_type().find('.') != std::string::npos) kwargs.emplace_back("_type", node.op_type());
  if (!captures.empty()) {
    kwargs.emplace_back("_captures", fx::List({captures.begin(), captures.end()}));
  }
  std::set<std::string> domains;
  collect_domains(node, domains);
  domains.erase(io::is_default_domain(node.domain()) ? "" : node.domain());  // that is _opset
  fx::Dict versions;
  for (const std::string& domain : domains) {
    versions.items.emplace_back(domain, sets.version(domain));
  }
  if (!domains.empty()) kwargs.emplace_back("_domains", std::move(versions));
  if (!reason.empty()) kwargs.emplace_back("_reason", reason);
}

}  // namespace

std::vector<std::string> captured_names(const onnx::NodeProto& node) {
  CaptureFinder finder;
  finder.visit(node);
  return finder.take();
}

void carry_unchanged(GraphBuilder& builder, const onnx::NodeProto& node, const OperatorSets& sets,
                     const std::string& reason) {
  const std::vector<std::string> captures = captured_names(node);
  std::vector<std::string> names(node.input().begin(), node.input().end());
  names.insert(names.end(), captures.begin(), captures.end());
  std::vector<Value> args;
  for (const std::string& name : names) args.push_back(original_input(builder, name, sets));

  fx::Kwargs kwargs;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    // A leading underscore marks our own notes; attributes of the file that start with one get a
    // second one.
    const std::string name = (attribute.name().starts_with('_') ? "_" : "") + attribute.name();
    kwargs.emplace_back(name, carried_attribute(attribute, builder.external()));
  }
  add_notes(kwargs, node, sets, captures, reason);

  fx::Node& carried =
      builder.call(fx::Opcode::CallFunction, target_of(node), std::move(args), std::move(kwargs));
  if (!node.name().empty())
    carried.rename(as_path(node.name()));  // keeps the node recognizable in the file
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    fx::Node& result =
        node.output_size() == 1
            ? carried
            : builder.call(fx::Opcode::CallFunction, "operator.getitem", {carried, int64_t{i}}, {});
    builder.define(node.output(i), Value(result));
    const int type = packed_type(builder, node, i);
    if (type != 0) builder.note_packed(node.output(i), type);
  }
}

}  // namespace sparsebit::frontends
