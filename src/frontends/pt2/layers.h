#pragma once

#include "frontends/pt2/module_stack.h"
#include "sparsebit/fx/graph.h"
#include "sparsebit/fx/module.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sparsebit::frontends::pt2 {

/// Nodes that come from calls of layers, in graph order.
using LayerNodes = std::vector<std::pair<fx::Node*, ModuleCall>>;

/// The outermost module of the stack that is a layer in the operator table; empty when there is
/// none.
std::optional<ModuleCall> layer_in(const std::vector<ModuleCall>& stack);

/// Replaces the operators of a layer by a call of the layer where both compute the same; other
/// operators stay unchanged.
///
/// @param root  holds the layers' tensors at their paths, and receives the layers.
void restore_layers(fx::Graph& graph, fx::Module& root, const LayerNodes& nodes);

}  // namespace sparsebit::frontends::pt2
