#include "passes/all_passes.h"
#include "passes/layers.h"
#include "passes/values.h"

namespace sparsebit::passes {
namespace {

using Amounts = std::vector<int64_t>;

/// Padding before and after each axis, last axis first. A module may have one number for all.
std::optional<Amounts> amounts_of(const NodeView& pad) {
  const fx::Value &padding = pad.arg("padding"), &axes = pad.arg("spatial_dims");
  const std::optional<Amounts> amounts = constant_ints(padding);
  if (!padding.is_int()) return amounts;
  if (!axes.is_int()) return std::nullopt;
  return Amounts(2 * static_cast<size_t>(axes.to_int()), padding.to_int());
}

/// Whether a node pads with zeros, by explicit amounts.
bool pads_with_zeros(const NodeView& view) {
  const fx::Value &mode = view.arg("mode"), &value = view.arg("value");
  const bool zeros = value.is_none() || (value.is_number() && value.to_double() == 0);
  return mode.is_string() && mode.string() == "constant" && zeros && amounts_of(view);
}

/// Symmetric padding of each spatial axis, first axis first; empty when the ends differ, when it
/// crops, or when other axes are padded.
std::optional<Amounts> same_at_both_ends(const NodeView& pad, size_t axes) {
  const Amounts amounts = *amounts_of(pad);
  if (amounts.size() % 2 != 0) return std::nullopt;
  Amounts result(axes, 0);
  for (size_t i = 0; i < amounts.size(); i += 2) {  // from the last axis
    const int64_t before = amounts[i], after = amounts[i + 1];
    if (before != after || before < 0 || (i / 2 >= axes && before != 0)) return std::nullopt;
    if (i / 2 < axes) result[axes - 1 - i / 2] = before;
  }
  return result;
}

/// The convolution's own padding.
std::optional<Amounts> own_padding(const NodeView& conv, size_t axes) {
  const fx::Value& padding = conv.arg("padding");
  if (padding.is_string())
    return padding.string() == "valid" ? std::optional(Amounts(axes, 0)) : std::nullopt;
  std::optional<Amounts> amounts = constant_ints(padding);
  if (amounts && amounts->size() == 1) amounts = Amounts(axes, amounts->front());
  return amounts && amounts->size() == axes ? amounts : std::nullopt;
}

Replacements into_convolution(const Match& match, Rewriter& rewriter) {
  const NodeView &pad = match["pad"], &conv = match["conv"];
  const std::optional<Layer> layer = read_layer(conv, rewriter);
  const fx::Value& mode = conv.arg("padding_mode");
  if (!layer || !owns_module(conv, rewriter) || !mode.is_string() || mode.string() != "zeros")
    return {};
  const auto axes = static_cast<size_t>(layer->weight.dim() - 2);
  const std::optional<Amounts> added = same_at_both_ends(pad, axes);
  std::optional<Amounts> total = own_padding(conv, axes);
  if (!added || !total || !rewriter.may_replace(*pad.node, pad.arg("input"))) return {};
  for (size_t i = 0; i < axes; ++i) (*total)[i] += (*added)[i];
  set_layer(conv, make_layer(conv, *layer, {{"padding", *total}}), rewriter);
  return {{pad.node, pad.arg("input")}};
}

Replacements two_pads(const Match& match, Rewriter& rewriter) {
  const NodeView &first = match["first"], &second = match["second"];
  Amounts a = *amounts_of(first), b = *amounts_of(second);
  if (a.size() < b.size()) std::swap(a, b);
  for (size_t i = 0; i < b.size(); ++i) a[i] += b[i];
  const auto cuts = [](const NodeView& view) {
    const Amounts amounts = *amounts_of(view);
    return std::any_of(amounts.begin(), amounts.end(), [](int64_t n) { return n < 0; });
  };
  if (cuts(first) || cuts(second)) return {};  // cropped values cannot be restored
  return {{second.node,
           rewriter.graph().call_function("torch.nn.functional.pad", {first.arg("input"), a})}};
}

}  // namespace

Pass merge_pads() {
  const PatternNode first{.name = "first", .operators = {"pad"}, .check = pads_with_zeros};
  return {
      .name = "merge_pads",
      .summary = "fold zero padding into the following convolution",
      .stage = Stage::Simplify,
      .rules = {
          {Pattern({first,
                    {.name = "second",
                     .operators = {"pad"},
                     .inputs = {"first"},
                     .check = pads_with_zeros}}),
           two_pads},
          {Pattern(
               {{.name = "pad",
                 .operators = {"pad"},
                 .users = Users::Inside,
                 .check = pads_with_zeros},
                {.name = "conv", .operators = {"conv1d", "conv2d", "conv3d"}, .inputs = {"pad"}}}),
           into_convolution}}};
}

}  // namespace sparsebit::passes
