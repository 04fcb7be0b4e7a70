#include "frontends/onnx/sorting.h"

#include "frontends/onnx/carried.h"
#include "frontends/onnx/naming.h"

#include "sparsebit/core/error.h"

#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace sparsebit::frontends {
namespace {

using onnx::NodeProto;

std::vector<std::string> names_read(const NodeProto& node) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  for (std::string& name : captured_names(node)) names.push_back(std::move(name));
  std::erase(names, "");
  return names;
}

std::unordered_set<std::string> names_given(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  return names;
}

/// For each node: the nodes that read its results, and the number of inputs still to be computed.
struct Dependencies {
  std::vector<std::vector<int>> readers;
  std::vector<int> waiting;
};

Dependencies dependencies_of(const onnx::GraphProto& graph) {
  const std::unordered_set<std::string> given = names_given(graph);
  std::unordered_map<std::string, int> producer;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : graph.node(i).output()) {
      if (name.empty()) continue;
      const bool is_new = !given.contains(name) && producer.emplace(name, i).second;
      SPARSEBIT_CHECK(is_new, InvalidModel, describe(graph.node(i)), ": '", name,
                      "' is defined twice");
    }
  }
  Dependencies result{std::vector<std::vector<int>>(static_cast<size_t>(graph.node_size())),
                      std::vector<int>(static_cast<size_t>(graph.node_size()))};
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : names_read(graph.node(i))) {
      if (given.contains(name)) continue;
      const auto it = producer.find(name);
      SPARSEBIT_CHECK(it != producer.end(), InvalidModel, describe(graph.node(i)), " reads '", name,
                      "', which is not defined");
      result.readers[static_cast<size_t>(it->second)].push_back(i);
      ++result.waiting[static_cast<size_t>(i)];
    }
  }
  return result;
}

}  // namespace

std::vector<NodeProto*> sorted_nodes(onnx::GraphProto& graph) {
  Dependencies dependencies = dependencies_of(graph);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;  // the file's order first
  for (int i = 0; i < graph.node_size(); ++i) {
    if (dependencies.waiting[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  std::vector<NodeProto*> sorted;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    sorted.push_back(graph.mutable_node(i));
    for (const int reader : dependencies.readers[static_cast<size_t>(i)]) {
      if (--dependencies.waiting[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    SPARSEBIT_CHECK(dependencies.waiting[static_cast<size_t>(i)] == 0, InvalidModel,
                    describe(graph.node(i)), " depends on its own result: the graph has a cycle");
  }
  return sorted;
}

}  // namespace sparsebit::frontends
