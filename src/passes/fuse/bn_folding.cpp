#include "passes/fuse/bn_folding.h"

#include "passes/values.h"

#include <ATen/ATen.h>

namespace sparsebit::passes {
namespace {

/// The layer with the affine step after it folded in; null when the numbers do not fit its type.
fx::ModulePtr with_step_behind(const NodeView& view, const Layer& layer,
                               const ChannelAffine& affine) {
  const at::ScalarType type = layer.weight.scalar_type();
  Layer both = layer;
  both.weight = layer.weight.to(at::kDouble);
  both.weight = both.with_outputs_times(affine.factor).to(type);
  both.bias_trained = layer.bias_trained || affine.trained;
  const bool shifts = affine.trained || affine.shift.ne(0).any().item<bool>();
  if (layer.bias.defined() || shifts) {
    both.bias = affine.shift;
    if (layer.bias.defined()) both.bias = both.bias + layer.bias.to(at::kDouble) * affine.factor;
    both.bias = both.bias.to(type, /*non_blocking=*/false, /*copy=*/true);
  }
  return both.is_finite() ? make_layer(view, both) : nullptr;
}

}  // namespace

std::optional<ChannelAffine> affine_of(const NodeView& batch_norm, const Rewriter& rewriter) {
  const std::optional<fx::Args> constants = with_constants(batch_norm, rewriter);
  return constants ? read_batch_norm(*constants) : std::nullopt;
}

Replacements fold_behind(const NodeView& view, const Layer& layer, const NodeView& step,
                         const ChannelAffine& affine, Rewriter& rewriter) {
  if (!rewriter.may_replace(*step.node, *view.node)) return {};
  fx::ModulePtr together = with_step_behind(view, layer, affine);
  if (!together) return {};
  if (owns_module(view, rewriter)) {
    set_layer(view, std::move(together), rewriter);
    return {{step.node, *view.node}};
  }
  const bool is_module = view.node->op() == fx::Opcode::CallModule;
  const bool beside = is_module && !is_part_of_others(view.node->target(), rewriter);
  const std::string path =
      rewriter.free_path((beside ? view.node->target() : view.node->name()) + "_bn");
  together->train(rewriter.module().is_training());
  rewriter.module().set_module(path, std::move(together));
  auto args = is_module ? view.node->args() : std::vector<fx::Value>{view.arg("input")};
  auto kwargs = is_module ? view.node->kwargs() : fx::Kwargs();
  return {{step.node, rewriter.graph().call_module(path, std::move(args), std::move(kwargs))}};
}

}  // namespace sparsebit::passes
