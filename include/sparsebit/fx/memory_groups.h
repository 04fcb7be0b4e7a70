#pragma once

#include "sparsebit/fx/graph_module.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sparsebit::fx {

/// Which values of a graph may share memory, and which memory is written in place. Views and
/// in-place operators share memory with their inputs; unknown operators are assumed to.
class MemoryGroups {
 public:
  explicit MemoryGroups(const GraphModule& module);

  /// Nodes with the same number may share memory.
  size_t group_of(const Node& node) const { return groups_.at(&node); }
  /// Nodes that write to memory of this group, in graph order.
  const std::vector<const Node*>& writers_of(size_t group) const;
  /// Whether any node writes to memory that this node's value may share.
  bool is_written(const Node& node) const { return !writers_of(group_of(node)).empty(); }
  /// Whether this node writes to its first input.
  bool is_writer(const Node& node) const { return is_writer_.contains(&node); }
  /// Whether the graph writes to this parameter or buffer, so that it is not a constant.
  bool is_written(const at::Tensor& state) const {
    return written_state_.contains(state.unsafeGetTensorImpl());
  }

 private:
  std::unordered_map<const Node*, size_t> groups_;
  std::unordered_map<size_t, std::vector<const Node*>> writers_;
  std::unordered_set<const Node*> is_writer_;
  std::unordered_set<const at::TensorImpl*> written_state_;
};

}  // namespace sparsebit::fx
