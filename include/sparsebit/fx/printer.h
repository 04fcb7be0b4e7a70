#pragma once

#include "sparsebit/fx/graph_module.h"

#include <string>

namespace sparsebit::fx {

/// FX's text form, which parse_graph() reads back:
///
///     graph:
///         %x : [#users=1] = placeholder[target=x]
///         %fc : [#users=1] = call_module[target=fc](args=(%x,), kwargs={})
///         return fc
std::string to_text(const Graph& graph);

/// `float32[batch, 3, ?]`: names of sizes that are not fixed where there are any.
std::string to_string(const TensorInfo& info);

/// One row per node: opcode, name, target, operator or module type, shape if recorded, arguments,
/// which end in "..." where they are long.
std::string to_table(const GraphModule& module);

/// A flow chart for mermaid: `graph TD`, a line per node, inputs and outputs coloured, an arrow per
/// edge.
std::string to_mermaid(const GraphModule& module);

/// An object with the model's type and a list of nodes, for other programs.
std::string to_json(const GraphModule& module);

}  // namespace sparsebit::fx
