#pragma once

#include "sparsebit/fx/naming.h"
#include "sparsebit/fx/node.h"

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sparsebit::fx {

/// Nodes in topological order. Owns them; editing is O(1) per node.
///
/// New nodes go to the insertion point, which is the end unless a guard from inserting_before() or
/// inserting_after() is alive. A graph has a fixed address, because its nodes point back at it.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Node& placeholder(std::string target, std::optional<Value> default_value = {});
  Node& get_attr(std::string target);
  Node& call_function(std::string target, std::vector<Argument> args, Kwargs kwargs = {});
  Node& call_method(std::string target, std::vector<Argument> args, Kwargs kwargs = {});
  Node& call_module(std::string target, std::vector<Argument> args, Kwargs kwargs = {});
  Node& output(Argument result);
  /// @param name  the preferred name; made unique by the naming rules. Empty = from the target.
  Node& create_node(Opcode op, std::string target, std::vector<Argument> args, Kwargs kwargs = {},
                    std::string_view name = {});

  /// Throws InvalidArgument, naming the users, if other nodes use this one.
  void erase(Node& node);

  /// Restores the previous insertion point when it goes out of scope.
  class [[nodiscard]] InsertPoint {
   public:
    InsertPoint(Graph& graph, std::list<Node>::iterator position);
    ~InsertPoint() { graph_.insert_points_.pop_back(); }
    InsertPoint(const InsertPoint&) = delete;
    InsertPoint& operator=(const InsertPoint&) = delete;

   private:
    Graph& graph_;
  };
  InsertPoint inserting_before(Node& node);
  InsertPoint inserting_after(Node& node);

  /// All nodes in order. Erasing the node an iterator points at invalidates that iterator; walk
  /// over node_list() to erase while walking.
  std::list<Node>& nodes() { return nodes_; }
  const std::list<Node>& nodes() const { return nodes_; }
  std::vector<Node*> node_list();
  size_t size() const { return nodes_.size(); }
  Node* find(std::string_view name);  ///< by name, null when absent; linear
  const Node* find(std::string_view name) const;
  std::vector<Node*> placeholders();
  std::vector<const Node*> placeholders() const;
  /// The output node, or null.
  Node* output_node();
  const Node* output_node() const;

  /// Reorders nodes so that producers come before users; a valid order stays unchanged. Throws
  /// InvalidModel on a cycle.
  void sort_topologically();

  std::unique_ptr<Graph> clone() const;

  /// Copies the nodes of `other` to the insertion point, its placeholders replaced by `inputs` in
  /// order; its output node is not copied. Returns what `other` returns, in terms of this graph.
  /// Tensors in arguments stay shared.
  Value merge(const Graph& other, std::span<const Value> inputs);

  /// Changes with every edit of structure or arguments.
  uint64_t version() const { return version_; }

 private:
  friend class Node;
  void touch() { ++version_; }
  void check_owns(const Node& node) const;

  std::list<Node> nodes_;
  std::vector<std::list<Node>::iterator> insert_points_ = {nodes_.end()};  // the last one is active
  Namespace names_;
  uint64_t version_ = 0;
};

}  // namespace sparsebit::fx
