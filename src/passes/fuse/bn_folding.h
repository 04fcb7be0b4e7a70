#pragma once

#include "passes/layers.h"

#include "sparsebit/passes/fuse/channel_affine.h"
#include "sparsebit/passes/rewriter.h"

namespace sparsebit::passes {

/// The factors of a batch norm, if all its parameters are constants.
std::optional<ChannelAffine> affine_of(const NodeView& batch_norm, const Rewriter& rewriter);

/// Folds a node that computes `affine` into the layer that it reads. The layer is changed if it has
/// no other user; otherwise a new layer replaces the node.
Replacements fold_behind(const NodeView& view, const Layer& layer, const NodeView& step,
                         const ChannelAffine& affine, Rewriter& rewriter);

}  // namespace sparsebit::passes
