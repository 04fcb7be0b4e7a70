#include "passes/all_passes.h"
#include "passes/fuse/bn_folding.h"
#include "passes/values.h"

#include <ATen/ATen.h>

namespace sparsebit::passes {
namespace {

/// A constant as one number per output channel of the layer; empty when it is not constant, varies
/// along other axes, or would change the shape or type of the layer's result.
std::optional<at::Tensor> per_channel(const fx::Value& value, const NodeView& view,
                                      const Layer& layer, const Rewriter& rewriter) {
  if (value.is_number()) return at::full({layer.outputs()}, value.to_double(), at::kDouble);
  const at::Tensor* tensor = constant_tensor(value, rewriter);
  if (!tensor || tensor->scalar_type() != layer.weight.scalar_type()) return std::nullopt;
  if (value.is_node() && reads_shared_parameter(value.node(), rewriter)) return std::nullopt;
  const int64_t rank = batched_rank(view);
  const int64_t from_behind = view.is("linear") ? 1 : rank - 1;  // axis of the channels
  const int64_t channels = tensor->dim() - from_behind;
  const bool one_for_all = tensor->numel() == 1;
  const bool by_channel = channels >= 0 && tensor->numel() == layer.outputs() &&
                          tensor->size(channels) == layer.outputs();
  const bool keeps_rank =
      tensor->dim() < rank || rank_of(view.arg("input"), rewriter).value_or(0) >= tensor->dim();
  if (!keeps_rank || (!one_for_all && !by_channel)) return std::nullopt;
  return tensor->to(at::kDouble).flatten().expand({layer.outputs()});
}

/// The factor and shift of a mul, div, add or sub, per channel.
/// @param trained  whether the operand is trained.
ChannelAffine affine_of_step(const NodeView& step, const at::Tensor& operand, bool trained) {
  const at::Tensor ones = at::ones_like(operand), zeros = at::zeros_like(operand);
  if (step.is("mul")) return {operand, zeros};
  if (step.is("div")) return {operand.reciprocal(), zeros};
  return {ones, step.is("sub") ? -operand : operand, trained};
}

Replacements fold_step(const Match& match, Rewriter& rewriter) {
  const NodeView &view = match["layer"], &step = match["step"];
  const std::optional<Layer> layer = read_layer(view, rewriter);
  const bool commutes = step.is("mul") || step.is("add");
  if (!layer || !owns_tensors(view, rewriter) || (!commutes && !reads(step, *view.node))) return {};
  const fx::Value& other = other_operand(step, *view.node);
  const std::optional<at::Tensor> operand = per_channel(other, view, *layer, rewriter);
  if (!operand) return {};
  const at::Tensor* tensor = constant_tensor(other, rewriter);
  const ChannelAffine affine = affine_of_step(step, *operand, tensor && tensor->requires_grad());
  const bool finite = at::isfinite(affine.factor + affine.shift).all().item<bool>();
  return finite ? fold_behind(view, *layer, step, affine, rewriter) : Replacements();
}

}  // namespace

Pass fuse_scale() {
  return {
      .name = "fuse_scale",
      .summary = "fold constant scales and shifts per channel into the preceding layer",
      .stage = Stage::Fuse,
      .rules = {{Pattern({{.name = "layer", .operators = layer_operators(), .users = Users::Inside},
                          {.name = "step",
                           .operators = {"mul", "div", "add", "sub"},
                           .inputs = {"layer"},
                           .order = InputOrder::Subset,
                           .check = is_plain}}),
                 fold_step}}};
}

}  // namespace sparsebit::passes
