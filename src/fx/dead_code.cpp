#include "sparsebit/fx/dead_code.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/resolve.h"

#include <unordered_set>

namespace sparsebit::fx {
namespace {

using NodeSet = std::unordered_set<const Node*>;

void mark_with_producers(const Node& node, NodeSet& needed) {
  std::vector<const Node*> stack = {&node};
  while (!stack.empty()) {
    const Node* top = stack.back();
    stack.pop_back();
    if (!needed.insert(top).second) continue;
    stack.insert(stack.end(), top->inputs().begin(), top->inputs().end());
  }
}

/// Whether writing to the result of `node` can be seen through a needed value: the value itself,
/// or one it may be a view of.
bool writes_to_needed(const Node& node, const NodeSet& needed, const GraphModule& module) {
  const Node* written = &node;
  while (!needed.contains(written)) {
    const Spelling* spelling = find_spelling(*written, module);
    const bool may_share = spelling && (spelling->op->view || mutates_input(*written, module));
    if (!may_share || written->inputs().empty()) return false;
    written = written->inputs()[0];
  }
  return true;
}

NodeSet find_needed(const GraphModule& module) {
  const Node* output = module.graph().output_node();
  SPARSEBIT_CHECK(output, InvalidModel,
                  "the graph has no output node, so everything in it is dead");
  NodeSet needed;
  mark_with_producers(*output, needed);
  std::vector<const Node*> mutating;
  for (const Node& node : module.graph().nodes()) {
    if (!needed.contains(&node) && mutates_input(node, module)) mutating.push_back(&node);
  }
  // A write that is kept may keep further ones; each round keeps at least one or is the last.
  for (bool grew = true; grew;) {
    grew = false;
    for (const Node* node : mutating) {
      if (needed.contains(node) || node->inputs().empty()) continue;
      if (!writes_to_needed(*node->inputs()[0], needed, module)) continue;
      mark_with_producers(*node, needed);
      grew = true;
    }
  }
  return needed;
}

}  // namespace

DeadCode eliminate_dead_code(GraphModule& module, UnusedInputs unused_inputs) {
  const NodeSet needed = find_needed(module);
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

}  // namespace sparsebit::fx
