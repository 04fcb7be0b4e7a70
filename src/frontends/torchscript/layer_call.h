#pragma once

#include "sparsebit/fx/module.h"
#include "sparsebit/fx/node.h"

#include <functional>
#include <optional>
#include <vector>

namespace sparsebit::frontends::torchscript {

/// A layer of torch.nn that one call of its operator stands for. Files of traced and exported
/// models have no attributes of layers, but the calls of their operators say what these were.
struct LayerCall {
  fx::ModulePtr module;
  std::vector<fx::Value> inputs;  ///< of its forward, those of the call
};

struct LayerCallFacts {
  bool first_only = false;  ///< of the operator's results, only the first is wanted
  /// Whether a node was written by the layer as well; its padding is then a part of it.
  std::function<bool(const fx::Node&)> inside;
};

/// Nothing when an attribute stays unknown, or when the layer would give its operator other
/// arguments than the call does.
///
/// @param spelling  the layer's class.
/// @param call      of its operator, a node whose tensors are in `root`.
/// @param tensors   the module in `root` that has the layer's parameters and buffers.
std::optional<LayerCall> layer_of_call(const fx::Spelling& spelling, const fx::Node& call,
                                       const fx::Module& tensors, const fx::Module& root,
                                       const LayerCallFacts& facts);

/// The same operator; torch computes all dropouts of whole channels with one.
bool same_operator(const fx::Operator& a, const fx::Operator& b);

}  // namespace sparsebit::frontends::torchscript
