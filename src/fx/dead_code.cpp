#include "sparsebit/fx/dead_code.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/memory_groups.h"
#include "sparsebit/fx/resolve.h"

#include <unordered_map>
#include <unordered_set>

namespace sparsebit::fx {
namespace {

/// Finds the nodes that the output depends on. An in-place write is needed when any needed node may
/// share the written memory. Takes linear time.
class Liveness {
 public:
  explicit Liveness(const GraphModule& module) : module_(module), memory_(module) {}

  std::unordered_set<const Node*> needed() {
    for (const Node& node : module_.graph().nodes()) {
      // State that outlives the run is always needed: `self.counter.add_(1)`.
      if (node.op() == Opcode::GetAttr) need_writers(node);
      if (node.op() == Opcode::Output || has_effect(node)) need(node);
    }
    while (!todo_.empty()) {
      const Node* node = todo_.back();
      todo_.pop_back();
      for (const Node* input : node->inputs()) need(*input);
      need_writers(*node);
    }
    return std::move(needed_);
  }

 private:
  bool has_effect(const Node& node) const {
    const Spelling* spelling = find_spelling(node, module_);
    return spelling && spelling->op->effect == Effect::Checks;
  }

  void need(const Node& node) {
    if (needed_.insert(&node).second) todo_.push_back(&node);
  }

  void need_writers(const Node& node) {
    const size_t group = memory_.group_of(node);
    if (!needed_groups_.insert(group).second) return;
    for (const Node* writer : memory_.writers_of(group)) need(*writer);
  }

  const GraphModule& module_;
  const MemoryGroups memory_;
  std::unordered_set<const Node*> needed_;
  std::unordered_set<size_t> needed_groups_;
  std::vector<const Node*> todo_;
};

/// The modules and tensors of a module tree that a graph refers to. A used module is kept at all of
/// its paths.
class UsedState {
 public:
  explicit UsedState(GraphModule& module) : root_(module) {
    for (const Node& node : module.graph().nodes()) {
      if (node.op() == Opcode::CallModule) {
        use_owners(node.target());
        use_whole(root_.find(node.target()));
      } else if (node.op() == Opcode::GetAttr) {
        const auto [owner, name] = split_path(node.target());
        use_owners(owner);
        if (Module* module_of_tensor = root_.find(owner)) tensors_[module_of_tensor].insert(name);
        use_whole(root_.find(node.target()));
      }
    }
  }

  void drop_the_rest(Module& module) {
    if (whole_.contains(&module)) return;
    std::unordered_set<std::string> kept = tensors_[&module];
    for (const auto& item : module.children()) {
      const Module* child = item.value().get();
      if (whole_.contains(child) || passed_.contains(child)) kept.insert(item.key());
    }
    module.keep_only(kept);
    for (const auto& item : module.children()) drop_the_rest(*item.value());
  }

 private:
  void use_whole(Module* module) {
    if (!module || whole_.contains(module)) return;
    for (const auto& [path, part] : module->named_modules()) whole_.insert(part);
  }

  void use_owners(std::string path) {
    for (; !path.empty(); path = split_path(path).first) {
      if (Module* module = root_.find(path)) passed_.insert(module);
    }
  }

  Module& root_;
  std::unordered_set<const Module*> whole_;   // called modules and all modules inside of them
  std::unordered_set<const Module*> passed_;  // modules with a used module or tensor inside
  std::unordered_map<const Module*, std::unordered_set<std::string>> tensors_;
};

}  // namespace

DeadCode eliminate_dead_code(GraphModule& module, UnusedInputs unused_inputs) {
  SPARSEBIT_CHECK(module.graph().output_node(), InvalidModel,
                  "the graph has no output node, so everything in it is dead");
  const std::unordered_set<const Node*> needed = Liveness(module).needed();
  DeadCode dead;
  std::vector<Node*> doomed;
  for (Node& node : module.graph().nodes()) {
    if (needed.contains(&node)) continue;
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

void drop_unused_state(GraphModule& module) { UsedState(module).drop_the_rest(module); }

}  // namespace sparsebit::fx
