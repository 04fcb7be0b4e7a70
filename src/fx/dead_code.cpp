#include "sparsebit/fx/dead_code.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/resolve.h"

#include <numeric>
#include <unordered_map>

namespace sparsebit::fx {
namespace {

/// Finds the nodes that are needed. Nodes whose results may share memory form a group; writing in
/// place is needed when any node of the written group is. Each node is looked at a constant number
/// of times.
class Liveness {
 public:
  explicit Liveness(const GraphModule& module) : module_(module) {
    for (const Node& node : module.graph().nodes()) {
      index_.emplace(&node, nodes_.size());
      nodes_.push_back(&node);
    }
    parent_.resize(nodes_.size());
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    for (const Node* node : nodes_) {
      if (!may_share_memory(*node)) continue;
      for (const Node* input : node->inputs()) parent_[group_of(*input)] = group_of(*node);
    }
    for (const Node* node : nodes_) {
      const bool writes = !node->inputs().empty() && mutates_input(*node, module_);
      if (writes) writers_[group_of(*node->inputs()[0])].push_back(node);
    }
  }

  std::vector<bool> needed() {
    needed_.assign(nodes_.size(), false);
    group_needed_.assign(nodes_.size(), false);
    for (const Node* node : nodes_) {
      // State that outlives the run is always needed: `self.counter.add_(1)`.
      if (node->op() == Opcode::GetAttr) need_group(*node);
      if (node->op() == Opcode::Output || has_effect(*node)) need(*node);
    }
    while (!todo_.empty()) {
      const Node* node = todo_.back();
      todo_.pop_back();
      for (const Node* input : node->inputs()) need(*input);
      need_group(*node);
    }
    return needed_;
  }

 private:
  /// Views do, in-place operators do, and what nobody knows may.
  bool may_share_memory(const Node& node) const {
    const bool is_call = node.op() == Opcode::CallFunction || node.op() == Opcode::CallMethod ||
                         node.op() == Opcode::CallModule;
    if (!is_call) return false;
    const Spelling* spelling = find_spelling(node, module_);
    return !spelling || spelling->op->view || mutates_input(node, module_);
  }

  bool has_effect(const Node& node) const {
    const Spelling* spelling = find_spelling(node, module_);
    return spelling && spelling->op->effect == Effect::Checks;
  }

  size_t group_of(const Node& node) {
    size_t root = index_.at(&node);
    while (parent_[root] != root) root = parent_[root] = parent_[parent_[root]];
    return root;
  }

  void need(const Node& node) {
    const size_t i = index_.at(&node);
    if (needed_[i]) return;
    needed_[i] = true;
    todo_.push_back(&node);
  }

  void need_group(const Node& node) {
    const size_t group = group_of(node);
    if (group_needed_[group]) return;
    group_needed_[group] = true;
    const auto writers = writers_.find(group);
    if (writers == writers_.end()) return;
    for (const Node* writer : writers->second) need(*writer);
  }

  const GraphModule& module_;
  std::vector<const Node*> nodes_;
  std::unordered_map<const Node*, size_t> index_;
  std::vector<size_t> parent_;  // disjoint sets of nodes that may share memory
  std::unordered_map<size_t, std::vector<const Node*>> writers_;  // by group
  std::vector<bool> needed_, group_needed_;
  std::vector<const Node*> todo_;
};

}  // namespace

DeadCode eliminate_dead_code(GraphModule& module, UnusedInputs unused_inputs) {
  SPARSEBIT_CHECK(module.graph().output_node(), InvalidModel,
                  "the graph has no output node, so everything in it is dead");
  const std::vector<bool> needed = Liveness(module).needed();
  DeadCode dead;
  std::vector<Node*> doomed;
  size_t i = 0;
  for (Node& node : module.graph().nodes()) {
    if (needed[i++]) continue;
    if (node.op() != Opcode::Placeholder) {
      dead.nodes.push_back(node.name());
    } else if (unused_inputs == UnusedInputs::Drop) {
      dead.placeholders.push_back(node.name());
    } else {
      continue;
    }
    doomed.push_back(&node);
  }
  for (auto it = doomed.rbegin(); it != doomed.rend(); ++it) module.graph().erase(**it);
  if (!dead.placeholders.empty()) module.refresh_signature();
  return dead;
}

}  // namespace sparsebit::fx
