#include "passes/all_passes.h"
#include "passes/layers.h"
#include "passes/values.h"

#include "sparsebit/passes/fuse/bn_folding.h"

#include <ATen/ATen.h>

namespace sparsebit::passes {
namespace {

/// A layer that gives what layer and batch norm give together.
fx::ModulePtr with_bn_behind(const NodeView& view, const Layer& layer, const ChannelAffine& bn) {
  const at::ScalarType type = layer.weight.scalar_type();
  Layer both = layer;
  both.weight = layer.weight.to(at::kDouble);
  both.weight = both.with_outputs_times(bn.factor).to(type);
  both.bias = bn.shift;
  if (layer.bias.defined()) both.bias = both.bias + layer.bias.to(at::kDouble) * bn.factor;
  both.bias = both.bias.to(type);
  return make_layer(view, both);
}

Replacements fold_behind(const Match& match, Rewriter& rewriter) {
  const NodeView &view = match["layer"], &norm = match["bn"];
  const std::optional<Layer> layer = read_layer(view, rewriter);
  const std::optional<fx::Args> constants = with_constants(norm, rewriter);
  const std::optional<ChannelAffine> bn = constants ? read_batch_norm(*constants) : std::nullopt;
  const bool fits = layer && bn && bn->factor.numel() == layer->outputs() &&
                    agree_on_channels(view, norm, rewriter) && reads(norm, *view.node);
  if (!fits || !rewriter.may_replace(*norm.node, *view.node)) return {};
  fx::ModulePtr together = with_bn_behind(view, *layer, *bn);
  if (owns_module(view, rewriter)) {
    set_layer(view, std::move(together), rewriter);
    return {{norm.node, *view.node}};
  }
  const bool is_module = view.node->op() == fx::Opcode::CallModule;
  const bool beside = is_module && !is_part_of_others(view.node->target(), rewriter);
  const std::string path =
      rewriter.free_path((beside ? view.node->target() : view.node->name()) + "_bn");
  together->train(rewriter.module().is_training());
  rewriter.module().set_module(path, std::move(together));
  auto args = is_module ? view.node->args() : std::vector<fx::Value>{view.arg("input")};
  auto kwargs = is_module ? view.node->kwargs() : fx::Kwargs();
  return {{norm.node, rewriter.graph().call_module(path, std::move(args), std::move(kwargs))}};
}

}  // namespace

Pass fuse_bn() {
  return {
      .name = "fuse_bn",
      .summary = "a batch norm becomes part of the convolution or linear layer before it",
      .stage = Stage::Fuse,
      .rules = {{Pattern({{.name = "layer", .operators = layer_operators(), .users = Users::Inside},
                          {.name = "bn",
                           .operators = {"batch_norm"},
                           .inputs = {"layer"},
                           .order = InputOrder::Subset}}),
                 fold_behind}}};
}

}  // namespace sparsebit::passes
