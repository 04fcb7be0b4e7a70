#include "passes/all_passes.h"
#include "passes/fuse/bn_folding.h"
#include "passes/values.h"

namespace sparsebit::passes {
namespace {

Replacements fold_batch_norm(const Match& match, Rewriter& rewriter) {
  const NodeView &view = match["layer"], &norm = match["bn"];
  const std::optional<Layer> layer = read_layer(view, rewriter);
  const std::optional<ChannelAffine> bn = affine_of(norm, rewriter);
  const bool fits = layer && bn && bn->factor.numel() == layer->outputs() &&
                    agree_on_channels(view, norm, rewriter) && reads(norm, *view.node);
  return fits ? fold_behind(view, *layer, norm, *bn, rewriter) : Replacements();
}

}  // namespace

Pass fuse_bn() {
  return {
      .name = "fuse_bn",
      .summary = "fold a batch norm into the preceding convolution or linear layer",
      .stage = Stage::Fuse,
      .rules = {{Pattern({{.name = "layer", .operators = layer_operators(), .users = Users::Inside},
                          {.name = "bn",
                           .operators = {"batch_norm"},
                           .inputs = {"layer"},
                           .order = InputOrder::Subset}}),
                 fold_batch_norm}}};
}

}  // namespace sparsebit::passes
