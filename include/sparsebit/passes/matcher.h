#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/passes/pattern.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sparsebit::passes {

/// The nodes of a graph by operator, each call read once.
class GraphIndex {
 public:
  /// `module` must outlive this object.
  explicit GraphIndex(fx::GraphModule& module);

  /// Nodes that call this operator, in graph order.
  const std::vector<fx::Node*>& nodes_of(const std::string& operator_name) const;
  /// All nodes, in graph order.
  const std::vector<fx::Node*>& nodes() const { return nodes_; }
  bool contains(const fx::Node& node) const { return entries_.contains(&node); }
  const NodeView& view(const fx::Node& node) const { return entries_.at(&node).view; }
  /// The number of nodes that call the module at this path.
  size_t calls_of(const std::string& module_path) const;
  /// The number of uses of the tensor: by users of get_attr nodes, by layers, called or not, and by
  /// other modules that are called.
  size_t readers_of(const at::Tensor& tensor) const;
  /// Whether a get_attr node reads a tensor of the module at this path.
  bool is_read_inside(const std::string& module_path) const { return read_.contains(module_path); }
  /// Whether the module is at several paths of the tree.
  bool is_shared(const fx::Module& module) const { return shared_.contains(&module); }
  /// Position in the graph.
  size_t position(const fx::Node& node) const { return entries_.at(&node).position; }
  /// Reads a node again after its arguments changed.
  void refresh(fx::Node& node);
  /// Whether a node is unused and will be removed at the end of the sweep: it does not count as a
  /// user and takes part in no match.
  bool is_dead(const fx::Node& node) const { return dead_.contains(&node); }
  bool set_dead(const fx::Node& node) { return dead_.insert(&node).second; }
  bool set_alive(const fx::Node& node) { return dead_.erase(&node) > 0; }
  /// Whether the graph has not changed since it was read.
  bool is_current() const { return version_ == module_.graph().version(); }

 private:
  void count_readers(const fx::Module& layer);
  bool is_inside_called(std::string path) const;

  struct Entry {
    NodeView view;
    size_t position;
  };

  fx::GraphModule& module_;
  uint64_t version_;
  std::vector<fx::Node*> nodes_;
  std::unordered_map<const fx::Node*, Entry> entries_;
  std::unordered_map<std::string, std::vector<fx::Node*>> by_operator_;
  std::unordered_map<std::string, size_t> calls_;  // by module path
  std::unordered_set<std::string> read_;           // paths of modules
  std::unordered_set<const fx::Module*> shared_;
  std::unordered_set<const fx::Node*> dead_;
  std::unordered_map<const at::TensorImpl*, size_t> readers_;  // of parameters and buffers
};

/// Every occurrence of the pattern in ascending order: by the graph position of the node matched to
/// the last pattern node, then to the one before, and so on. No two occurrences consist of the same
/// nodes: where inputs may be exchanged, the first assignment counts. The matches refer to `index`.
///
/// Takes time proportional to the number of nodes of the rarest operator and their neighbours.
std::vector<Match> find_matches(const Pattern& pattern, const GraphIndex& index);
/// Only occurrences that contain one of these nodes.
std::vector<Match> find_matches(const Pattern& pattern, const GraphIndex& index,
                                const std::vector<fx::Node*>& around);

/// Whether a match that was found in `index` is still valid.
bool still_matches(const Pattern& pattern, const Match& match, const GraphIndex& index);

}  // namespace sparsebit::passes
