#include "frontends/onnx/branches.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/onnx_subgraphs.h"

#include <unordered_map>

namespace sparsebit::frontends {
namespace {

using NewNames = std::unordered_map<std::string, std::string>;

void rename(std::string& name, const NewNames& names) {
  if (const auto it = names.find(name); it != names.end()) name = it->second;
}

void rename(onnx::GraphProto& graph, const NewNames& names);

void rename(onnx::NodeProto& node, const NewNames& names) {
  for (std::string& name : *node.mutable_input()) rename(name, names);
  for (std::string& name : *node.mutable_output()) rename(name, names);
  io::for_each_graph(node, [&](onnx::GraphProto& graph) { rename(graph, names); });
}

void rename(onnx::GraphProto& graph, const NewNames& names) {
  for (auto* list : {graph.mutable_output(), graph.mutable_value_info()}) {
    for (onnx::ValueInfoProto& value : *list) rename(*value.mutable_name(), names);
  }
  for (onnx::TensorProto& tensor : *graph.mutable_initializer())
    rename(*tensor.mutable_name(), names);
  for (onnx::SparseTensorProto& tensor : *graph.mutable_sparse_initializer())
    rename(*tensor.mutable_values()->mutable_name(), names);
  for (onnx::NodeProto& node : *graph.mutable_node()) rename(node, names);
}

}  // namespace

onnx::GraphProto& branch_of(onnx::NodeProto& node, bool condition) {
  const char* name = condition ? "then_branch" : "else_branch";
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.name() != name || !attribute.has_g()) continue;
    SPARSEBIT_CHECK(attribute.g().output_size() == node.output_size(), InvalidModel, "its ", name,
                    " has ", attribute.g().output_size(), " results, but the node has ",
                    node.output_size());
    return *attribute.mutable_g();
  }
  throw Error(ErrorKind::InvalidModel, std::string("If needs an attribute '") + name + "'");
}

void add_defined_names(const onnx::GraphProto& graph, std::unordered_set<std::string>& names) {
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  for (const onnx::NodeProto& node : graph.node())
    names.insert(node.output().begin(), node.output().end());
}

void make_names_unique(onnx::GraphProto& branch, std::unordered_set<std::string>& taken) {
  std::unordered_set<std::string> own;
  add_defined_names(branch, own);
  own.erase("");
  NewNames names;
  for (const std::string& name : own) {
    if (!taken.contains(name)) continue;
    std::string other;
    for (int number = 1; other.empty() || taken.contains(other) || own.contains(other); ++number)
      other = name + "/" + std::to_string(number);
    taken.insert(other);
    names.emplace(name, std::move(other));
  }
  taken.insert(own.begin(), own.end());
  if (!names.empty()) rename(branch, names);
}

}  // namespace sparsebit::frontends
