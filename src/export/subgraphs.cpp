#include "export/subgraphs.h"

namespace sparsebit::exports {

void for_each_graph(onnx::AttributeProto& attribute,
                    const std::function<void(onnx::GraphProto&)>& visit) {
  if (attribute.has_g()) visit(*attribute.mutable_g());
  for (onnx::GraphProto& graph : *attribute.mutable_graphs()) visit(graph);
}

void rename_captured(onnx::NodeProto& node,
                     const std::unordered_map<std::string, std::string>& names) {
  const auto rename = [&](std::string& name) {
    if (const auto it = names.find(name); it != names.end()) name = it->second;
  };
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    for_each_graph(attribute, [&](onnx::GraphProto& graph) {
      for (onnx::NodeProto& inner : *graph.mutable_node()) {
        for (std::string& input : *inner.mutable_input()) rename(input);
        rename_captured(inner, names);
      }
      for (onnx::ValueInfoProto& output : *graph.mutable_output()) rename(*output.mutable_name());
    });
  }
}

void collect_uses(const onnx::NodeProto& node, std::unordered_set<std::string>& used) {
  const auto collect = [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& inner : graph.node()) collect_uses(inner, used);
    for (const onnx::ValueInfoProto& output : graph.output()) used.insert(output.name());
  };
  used.insert(node.input().begin(), node.input().end());
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) collect(attribute.g());
    for (const onnx::GraphProto& graph : attribute.graphs()) collect(graph);
  }
}

void collect_definitions(onnx::GraphProto& graph, std::vector<std::string>& names) {
  for (const auto& input : graph.input()) names.push_back(input.name());
  for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    names.insert(names.end(), node.output().begin(), node.output().end());
    for (onnx::AttributeProto& attribute : *node.mutable_attribute())
      for_each_graph(attribute,
                     [&](onnx::GraphProto& inner) { collect_definitions(inner, names); });
  }
}

void for_each_node(onnx::NodeProto& node, const std::function<void(onnx::NodeProto&)>& visit) {
  visit(node);
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    for_each_graph(attribute, [&](onnx::GraphProto& graph) {
      for (onnx::NodeProto& inner : *graph.mutable_node()) for_each_node(inner, visit);
    });
  }
}

}  // namespace sparsebit::exports
