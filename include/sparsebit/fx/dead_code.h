#pragma once

#include "sparsebit/fx/graph_module.h"

#include <string>
#include <vector>

namespace sparsebit::fx {

/// What happens to inputs that the output does not depend on.
enum class UnusedInputs { Keep, Drop };

/// What was removed, by node name, in graph order.
struct DeadCode {
  std::vector<std::string> nodes;
  std::vector<std::string> placeholders;
  bool empty() const { return nodes.empty() && placeholders.empty(); }
};

/// Erases every node the output does not depend on. A node that changes a value in place counts as
/// needed when that value, or one that may share memory with it, is needed or belongs to the model;
/// so do checks such as torch._assert. Dropping inputs shrinks the signature of forward.
DeadCode eliminate_dead_code(GraphModule& module, UnusedInputs unused_inputs = UnusedInputs::Keep);

/// Removes the modules, parameters and buffers of the tree that the graph does not refer to.
void drop_unused_state(GraphModule& module);

}  // namespace sparsebit::fx
