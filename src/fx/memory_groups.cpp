#include "sparsebit/fx/memory_groups.h"

#include "sparsebit/fx/resolve.h"

#include <numeric>

namespace sparsebit::fx {
namespace {

/// Whether a call's result may share memory with any of its inputs.
bool may_alias_inputs(const Node& node, const GraphModule& module) {
  const bool is_call = node.op() == Opcode::CallFunction || node.op() == Opcode::CallMethod ||
                       node.op() == Opcode::CallModule;
  if (!is_call) return false;
  const Spelling* spelling = find_spelling(node, module);
  return !spelling || spelling->op->view;
}

const at::Tensor* state_read_by(const Node& node, const GraphModule& module) {
  return node.op() == Opcode::GetAttr ? module.find_tensor(node.target()) : nullptr;
}

/// Union-find over the numbers 0 to count - 1.
class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<size_t> parent_;
};

}  // namespace

MemoryGroups::MemoryGroups(const GraphModule& module) {
  for (const Node& node : module.graph().nodes()) groups_.emplace(&node, groups_.size());
  DisjointSets sets(groups_.size());
  for (const Node& node : module.graph().nodes()) {
    if (node.inputs().empty()) continue;
    if (mutates_input(node, module)) {  // the first input
      is_writer_.insert(&node);
      sets.join(groups_.at(node.inputs().front()), groups_.at(&node));
    }
    if (!may_alias_inputs(node, module)) continue;
    for (const Node* input : node.inputs()) sets.join(groups_.at(input), groups_.at(&node));
  }
  std::unordered_map<const at::TensorImpl*, const Node*> readers;  // first reader of each tensor
  for (const Node& node : module.graph().nodes()) {
    const at::Tensor* tensor = state_read_by(node, module);
    if (!tensor) continue;
    const auto [first, is_new] = readers.emplace(tensor->unsafeGetTensorImpl(), &node);
    if (!is_new) sets.join(groups_.at(first->second), groups_.at(&node));
  }
  for (auto& [node, group] : groups_) group = sets.find(group);
  for (const Node& node : module.graph().nodes()) {
    if (is_writer(node)) writers_[group_of(*node.inputs().front())].push_back(&node);
  }
  for (const auto& [tensor, reader] : readers) {
    if (is_written(*reader)) written_state_.insert(tensor);
  }
}

const std::vector<const Node*>& MemoryGroups::writers_of(size_t group) const {
  static const std::vector<const Node*> none;
  const auto it = writers_.find(group);
  return it == writers_.end() ? none : it->second;
}

}  // namespace sparsebit::fx
