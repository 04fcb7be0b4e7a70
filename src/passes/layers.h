#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/passes/pattern.h"

#include <ATen/core/Tensor.h>

#include <optional>

// Convolutions and linear layers as passes that change weights see them.

namespace sparsebit::passes {

class Rewriter;

/// Operators with a weight per pair of an output and an input channel.
const std::vector<std::string>& layer_operators();

/// How many axes a batch of inputs of one of them has.
int64_t batched_rank(const NodeView& layer);

/// One of them, its weights known.
struct Layer {
  at::Tensor weight;
  at::Tensor bias = {};  ///< undefined when there is none
  int64_t groups = 1;
  bool transposed = false;    ///< the weight has the inputs first
  bool trained = false;       ///< the weight takes part in training
  bool bias_trained = false;  ///< so does the bias

  int64_t outputs() const;
  int64_t inputs() const;
  /// Whether no number is too large for its type.
  bool is_finite() const;
  /// The weight as [groups, outputs of a group, inputs of a group, rest]: a view where possible.
  at::Tensor grouped() const;
  /// The opposite of grouped().
  at::Tensor ungrouped(const at::Tensor& grouped) const;
  /// The weight with each output or input channel multiplied by a factor of its own.
  at::Tensor with_outputs_times(const at::Tensor& factor) const;
  at::Tensor with_inputs_times(const at::Tensor& factor) const;
};

/// Nothing when the node calls another operator, or when what it does is not known before the model
/// runs: weights or sizes that are computed.
std::optional<Layer> read_layer(const NodeView& view, const Rewriter& rewriter);

/// Whether channels of the layer are where the batch norm next to it counts them, on axis 1. A
/// linear layer has them on the last axis, and without a batch a convolution has them on the first.
bool agree_on_channels(const NodeView& layer, const NodeView& norm, const Rewriter& rewriter);

/// A torch.nn module that does what the call does with the weight and bias of `layer`. They are
/// trained if they were; tensors of the model that have not changed are not copied.
/// @param changes  constructor arguments that are to be others than those of the call.
fx::ModulePtr make_layer(const NodeView& view, const Layer& layer, const fx::Kwargs& changes = {});

/// Whether somebody calls a module around the one at this path, or uses it under another path, so
/// that changing the one changes the other.
bool is_part_of_others(const std::string& path, const Rewriter& rewriter);

/// Whether the node calls a module that no other node calls or reads a tensor of, so that it can be
/// replaced.
bool owns_module(const NodeView& view, const Rewriter& rewriter);

/// Whether, besides, nobody else has its weight or bias: another copy of them would be one more.
bool owns_tensors(const NodeView& view, const Rewriter& rewriter);

/// Puts a new module in the place of the one that the node calls; the node must own it. The new
/// one is in the mode of the old.
void set_layer(const NodeView& view, fx::ModulePtr layer, Rewriter& rewriter);

}  // namespace sparsebit::passes
