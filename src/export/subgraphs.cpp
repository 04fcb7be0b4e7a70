#include "export/subgraphs.h"

#include "sparsebit/io/onnx_subgraphs.h"

namespace sparsebit::exports {

void rename_captured(onnx::NodeProto& node,
                     const std::unordered_map<std::string, std::string>& names) {
  const auto rename = [&](std::string& name) {
    if (const auto it = names.find(name); it != names.end()) name = it->second;
  };
  io::for_each_graph(node, [&](onnx::GraphProto& graph) {
    for (onnx::NodeProto& inner : *graph.mutable_node()) {
      for (std::string& input : *inner.mutable_input()) rename(input);
      rename_captured(inner, names);
    }
    for (onnx::ValueInfoProto& output : *graph.mutable_output()) rename(*output.mutable_name());
  });
}

void collect_uses(const onnx::NodeProto& node, std::unordered_set<std::string>& used) {
  used.insert(node.input().begin(), node.input().end());
  io::for_each_graph(node, [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& inner : graph.node()) collect_uses(inner, used);
    for (const onnx::ValueInfoProto& output : graph.output()) used.insert(output.name());
  });
}

void collect_definitions(const onnx::GraphProto& graph, std::vector<std::string>& names) {
  for (const auto& input : graph.input()) names.push_back(input.name());
  for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
  for (const onnx::NodeProto& node : graph.node()) {
    names.insert(names.end(), node.output().begin(), node.output().end());
    io::for_each_graph(node,
                       [&](const onnx::GraphProto& inner) { collect_definitions(inner, names); });
  }
}

void for_each_node(const onnx::NodeProto& node,
                   const std::function<void(const onnx::NodeProto&)>& visit) {
  visit(node);
  io::for_each_graph(node, [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& inner : graph.node()) for_each_node(inner, visit);
  });
}

}  // namespace sparsebit::exports
