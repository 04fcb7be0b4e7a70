#pragma once

#include "frontends/torchscript/script_value.h"
#include "frontends/torchscript/tensor_store.h"
#include "sparsebit/fx/graph.h"

#include <memory>
#include <string>
#include <unordered_map>

namespace sparsebit::frontends::torchscript {

/// Writes nodes into a graph: tensors in arguments become get_attr nodes, boxed numbers become
/// tensors, and each node records the module it came from.
class GraphBuilder {
 public:
  /// @param tensors  outlives this object.
  explicit GraphBuilder(TensorStore& tensors) : tensors_(tensors) {}

  fx::Graph& graph() { return *graph_; }
  std::unique_ptr<fx::Graph> take_graph() { return std::move(graph_); }
  Budget& budget() { return tensors_.budget(); }

  fx::Value function(std::string target, std::vector<fx::Value> args, fx::Kwargs kwargs = {});
  fx::Value method(std::string name, std::vector<fx::Value> args, fx::Kwargs kwargs = {});
  fx::Value module(std::string path, std::vector<fx::Value> args, fx::Kwargs kwargs = {});
  fx::Value getitem(const fx::Value& from, fx::Value index);

  /// A datum as an argument of a node. Throws Unsupported for modules and functions.
  fx::Value argument(const ScriptValue& datum);
  /// Likewise for a value; a known tensor becomes a get_attr node.
  fx::Value argument(const fx::Value& value);

  /// Dotted path of the module whose code is being read.
  std::string scope;

 private:
  fx::Value create(fx::Opcode op, std::string target, std::vector<fx::Value> args,
                   fx::Kwargs kwargs);
  fx::Value tensor_node(const at::Tensor& tensor);

  TensorStore& tensors_;
  std::unique_ptr<fx::Graph> graph_ = std::make_unique<fx::Graph>();
  std::unordered_map<const void*, fx::Node*> tensor_nodes_;
};

}  // namespace sparsebit::frontends::torchscript
