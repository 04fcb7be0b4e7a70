#pragma once

#include "sparsebit/fx/module.h"
#include "sparsebit/fx/node.h"

#include <functional>
#include <optional>
#include <vector>

namespace sparsebit::frontends::torchscript {

/// A layer of torch.nn that is represented by one call of its operator. Files of traced and
/// exported models contain no attributes of layers, but the arguments of the calls determine them.
struct LayerCall {
  fx::ModulePtr module;
  std::vector<fx::Value> inputs;  ///< the call's arguments for the layer's forward
};

struct LayerCallFacts {
  bool first_only = false;  ///< only the first of the operator's results is used
  /// Whether a node comes from the same layer; if so, a padding node belongs to the layer.
  std::function<bool(const fx::Node&)> inside;
};

/// The layer of a call; empty when an attribute stays unknown, or when the layer would pass other
/// arguments to its operator than the call does.
///
/// @param spelling  the layer's class.
/// @param call      the call of its operator, a node whose tensors are in `root`.
/// @param tensors   the module in `root` that has the layer's parameters and buffers.
std::optional<LayerCall> layer_of_call(const fx::Spelling& spelling, const fx::Node& call,
                                       const fx::Module& tensors, const fx::Module& root,
                                       const LayerCallFacts& facts);

/// Whether two operators are the same; torch uses one operator for all dropouts of whole channels.
bool same_operator(const fx::Operator& a, const fx::Operator& b);

}  // namespace sparsebit::frontends::torchscript
