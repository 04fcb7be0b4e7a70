#pragma once

#include "sparsebit/fx/graph_module.h"

#include <unordered_map>

namespace sparsebit::fx {

/// Whether a node can be computed from its inputs: its operator has a kernel.
bool has_kernel(const Node& node, const Module& root);

/// Nodes that cannot be computed because they, or nodes whose results they read, have no kernel;
/// each with the first such node. The graph's output is never among them.
std::unordered_map<const Node*, const Node*> uncomputable_nodes(const GraphModule& module);

}  // namespace sparsebit::fx
