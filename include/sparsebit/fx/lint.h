#pragma once

#include "sparsebit/fx/graph.h"
#include "sparsebit/fx/module.h"

namespace sparsebit::fx {

/// Checks what every pass relies on: producers before users, all of this graph; unique names;
/// consistent links; at most one output node, at the end; well-formed arguments of each opcode.
/// Throws InvalidModel whose message names the node.
void lint(const Graph& graph);

/// Also checks that call_module and get_attr targets exist in the module tree.
void lint(const Graph& graph, const Module& root);

}  // namespace sparsebit::fx
