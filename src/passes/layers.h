#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/passes/pattern.h"

#include <ATen/core/Tensor.h>

#include <optional>

// Convolutions and linear layers, for passes that change weights.

namespace sparsebit::passes {

class Rewriter;

/// Operators with a weight per pair of an output and an input channel.
const std::vector<std::string>& layer_operators();

/// The rank of a batch of inputs of such a layer.
int64_t batched_rank(const NodeView& layer);

/// A layer with constant weights.
struct Layer {
  at::Tensor weight;
  at::Tensor bias = {};  ///< undefined when there is none
  int64_t groups = 1;
  bool transposed = false;    ///< the weight has the input channels first
  bool trained = false;       ///< the weight is trained
  bool bias_trained = false;  ///< the bias is trained

  int64_t outputs() const;
  int64_t inputs() const;
  /// Whether all numbers are finite, that is, fit their type.
  bool is_finite() const;
  /// The weight as [groups, outputs of a group, inputs of a group, rest]: a view where possible.
  at::Tensor grouped() const;
  /// The inverse of grouped().
  at::Tensor ungrouped(const at::Tensor& grouped) const;
  /// The weight with each output (or input) channel multiplied by its factor.
  at::Tensor with_outputs_times(const at::Tensor& factor) const;
  at::Tensor with_inputs_times(const at::Tensor& factor) const;
};

/// The layer that a node calls. Empty for other operators, and when weights or options are
/// computed.
std::optional<Layer> read_layer(const NodeView& view, const Rewriter& rewriter);

/// Whether the channels of the layer are on axis 1, where the adjacent batch norm expects them. A
/// linear layer has them on the last axis, a convolution without a batch on the first.
bool agree_on_channels(const NodeView& layer, const NodeView& norm, const Rewriter& rewriter);

/// A torch.nn module equivalent to the call, with the weight and bias of `layer`. They stay trained
/// if they were; unchanged tensors of the model are not copied.
/// @param changes  constructor arguments that differ from those of the call.
fx::ModulePtr make_layer(const NodeView& view, const Layer& layer, const fx::Kwargs& changes = {});

/// Whether a module that contains the one at this path is called, or the module is used under
/// another path, so that changing it has an effect elsewhere.
bool is_part_of_others(const std::string& path, const Rewriter& rewriter);

/// Whether the node calls a module that no other node calls or reads a tensor of, so that it can be
/// replaced.
bool owns_module(const NodeView& view, const Rewriter& rewriter);

/// Likewise, and its weight and bias are not shared: changing shared tensors would need a copy.
bool owns_tensors(const NodeView& view, const Rewriter& rewriter);

/// Replaces the module that the node calls; the node must own it. The new module gets the mode
/// (train or eval) of the old one.
void set_layer(const NodeView& view, fx::ModulePtr layer, Rewriter& rewriter);

}  // namespace sparsebit::passes
