#pragma once

#include "passes/layers.h"

#include "sparsebit/passes/fuse/channel_affine.h"
#include "sparsebit/passes/rewriter.h"

namespace sparsebit::passes {

/// What a batch norm does, if all of it is known before the model runs.
std::optional<ChannelAffine> affine_of(const NodeView& batch_norm, const Rewriter& rewriter);

/// Folds a step that does the same as `affine` into the layer that it reads. The layer changes if
/// nobody else uses it; otherwise a new one takes the step's place.
Replacements fold_behind(const NodeView& view, const Layer& layer, const NodeView& step,
                         const ChannelAffine& affine, Rewriter& rewriter);

}  // namespace sparsebit::passes
