#pragma once

#include "frontends/pt2/module_stack.h"
#include "sparsebit/fx/graph.h"
#include "sparsebit/fx/module.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sparsebit::frontends::pt2 {

/// Nodes that calls of layers made, in the order of the graph.
using LayerNodes = std::vector<std::pair<fx::Node*, ModuleCall>>;

/// The outermost module of the stack that is a layer of the operator table; nothing when there is
/// none.
std::optional<ModuleCall> layer_in(const std::vector<ModuleCall>& stack);

/// Puts calls of layers in the place of the operators that they consist of, where these compute
/// just what the layer does; others stay as they are.
///
/// @param root  has the tensors of the layers at their paths, and gets the layers.
void restore_layers(fx::Graph& graph, fx::Module& root, const LayerNodes& nodes);

}  // namespace sparsebit::frontends::pt2
