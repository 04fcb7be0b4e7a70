#pragma once

#include "frontends/pt2/arguments.h"
#include "frontends/pt2/layers.h"
#include "frontends/torchscript/builder.h"

#include <vector>

namespace sparsebit::frontends::pt2 {

/// Writes the nodes of an exported program into an fx graph.
class GraphReader {
 public:
  /// @param builder  writes the nodes; outlives this object.
  explicit GraphReader(torchscript::GraphBuilder& builder) : builder_(builder) {}

  /// Reads all nodes of a graph in the file.
  ///
  /// @param environment  holds the graph's inputs, and receives the results of the nodes.
  void read_nodes(const JsonValue& graph, Environment& environment);

  /// Nodes of the fx graph that come from a layer of torch.nn, according to the file.
  const LayerNodes& layer_nodes() const { return layer_nodes_; }

 private:
  struct Target;

  void read_node(const JsonValue& graph, const JsonValue& node, Environment& environment);
  void enter(const JsonValue& node);
  std::vector<fx::Value> write(const JsonValue& graph, const JsonValue& node, const Target& target,
                               const Environment& environment);
  std::vector<fx::Value> write_operator(const JsonValue& graph, const JsonValue& node,
                                        const Target& target, const Environment& environment);
  std::vector<fx::Value> inline_graph(const JsonValue& node, size_t graph_index,
                                      const Environment& environment);
  std::vector<fx::Value> higher_order(const JsonValue& node, const std::string& name,
                                      const Environment& environment);
  void assign(const JsonValue& graph, const JsonValue& node, const std::vector<fx::Value>& results,
              Environment& environment);
  void assign_one(const JsonValue& graph, const JsonValue& name, const fx::Value& value,
                  Environment& environment);
  void note_layer(size_t nodes_before);

  torchscript::GraphBuilder& builder_;
  LayerNodes layer_nodes_;
  std::optional<ModuleCall> layer_;                // that the current node belongs to
  std::unordered_map<std::string, int64_t> uses_;  // of names in the current graph
  int depth_ = 0;                                  // of graphs in graphs
  bool error_located_ = false;
};

}  // namespace sparsebit::frontends::pt2
