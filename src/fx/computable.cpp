#include "sparsebit/fx/computable.h"

#include "sparsebit/fx/graph_operators.h"
#include "sparsebit/fx/resolve.h"

#include <typeinfo>

namespace sparsebit::fx {

bool has_kernel(const Node& node, const Module& root) {
  switch (node.op()) {
    case Opcode::CallFunction:
      // Imported unchanged because its form is unsupported, even if its name is known.
      if (node.kwarg("_opset")) {
        const GraphOperator* found = graph_operators().find(node.target());
        return found && found->can_run(node.kwargs());
      }
      [[fallthrough]];
    case Opcode::CallMethod:
      return find_spelling(node, root) != nullptr;
    case Opcode::CallModule: {
      const ModulePtr target = root.find_module(node.target());
      if (!target) return false;
      const Module& module = *target;
      return typeid(module) != typeid(Module) || module.is_operator();
    }
    default:
      return true;
  }
}

std::unordered_map<const Node*, const Node*> uncomputable_nodes(const GraphModule& module) {
  std::unordered_map<const Node*, const Node*> found;
  for (const Node& node : module.graph().nodes()) {
    if (node.op() == Opcode::Output) continue;
    if (!has_kernel(node, module)) {
      found.emplace(&node, &node);
      continue;
    }
    for (const Node* input : node.inputs()) {
      const auto it = found.find(input);
      if (it == found.end()) continue;
      found.emplace(&node, it->second);
      break;
    }
  }
  return found;
}

}  // namespace sparsebit::fx
