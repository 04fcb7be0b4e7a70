#include "passes/all_passes.h"
#include "passes/fuse/bn_folding.h"
#include "passes/values.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace sparsebit::passes {
namespace {

/// Whether the layer pads its input with no zeros. Folding would change padded zeros, which are
/// added after the batch norm; padding with copies of the input is not affected.
bool has_no_zeros_around(const NodeView& view) {
  if (view.is("linear")) return true;
  if (view.call->args.has("output_padding"))
    return false;  // outputs at the borders of a transposed convolution sum over fewer inputs
  const fx::Value &mode = view.arg("padding_mode"), &padding = view.arg("padding");
  if (mode.is_string() && mode.string() != "zeros") return true;
  if (padding.is_string()) return padding.string() == "valid";
  const std::optional<std::vector<int64_t>> amounts = constant_ints(padding);
  return amounts &&
         std::all_of(amounts->begin(), amounts->end(), [](int64_t amount) { return amount == 0; });
}

/// The layer with the batch norm before it folded in.
fx::ModulePtr with_bn_before(const NodeView& view, const Layer& layer, const ChannelAffine& bn) {
  const at::ScalarType type = layer.weight.scalar_type();
  Layer both = layer, shifts = layer;
  both.weight = shifts.weight = layer.weight.to(at::kDouble);
  both.weight = both.with_inputs_times(bn.factor).to(type);
  shifts.weight = shifts.with_inputs_times(bn.shift);
  both.bias = shifts.grouped().sum({2, 3}).flatten();  // contribution to each output
  if (layer.bias.defined()) both.bias = both.bias + layer.bias.to(at::kDouble);
  both.bias = both.bias.to(type);
  both.bias_trained = layer.bias_trained || bn.trained;
  return make_layer(view, both);
}

Replacements fold_before(const Match& match, Rewriter& rewriter) {
  const NodeView &view = match["layer"], &norm = match["bn"];
  const std::optional<Layer> layer = read_layer(view, rewriter);
  const std::optional<ChannelAffine> bn = affine_of(norm, rewriter);
  if (!layer || !bn || bn->factor.numel() != layer->inputs() || !reads(view, *norm.node)) return {};
  const bool only_scales = !bn->shift.ne(0).any().item<bool>();
  const bool legal = (has_no_zeros_around(view) || only_scales) &&
                     agree_on_channels(view, norm, rewriter) && owns_module(view, rewriter);
  const fx::Value& x = norm.arg("input");
  if (!legal || !rewriter.may_replace(*norm.node, x)) return {};
  set_layer(view, with_bn_before(view, *layer, *bn), rewriter);
  return {{norm.node, x}};
}

}  // namespace

Pass fuse_bn_before() {
  return {.name = "fuse_bn_before",
          .summary = "fold a batch norm into the following layer, unless zero padding prevents it",
          .stage = Stage::Fuse,
          .rules = {{Pattern({{.name = "bn", .operators = {"batch_norm"}, .users = Users::Inside},
                              {.name = "layer",
                               .operators = layer_operators(),
                               .inputs = {"bn"},
                               .order = InputOrder::Subset}}),
                     fold_before}}};
}

}  // namespace sparsebit::passes
