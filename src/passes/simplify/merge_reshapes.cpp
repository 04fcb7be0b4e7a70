#include "passes/all_passes.h"
#include "passes/values.h"

#include <algorithm>

namespace sparsebit::passes {
namespace {

/// Whether the arguments are sizes. A single node may be a list of sizes or a dtype:
/// `x.view(y.size())`.
bool has_sizes(const NodeView& view) {
  const fx::Value& shape = view.arg("shape");
  if (shape.is_sequence() && shape.items().size() == 1 && shape.items().front().is_node())
    return false;
  return shape.is_sequence() &&
         std::none_of(shape.items().begin(), shape.items().end(),
                      [](const fx::Value& size) { return size.is<at::ScalarType>(); });
}

/// Whether a node only changes the shape: `view(dtype)` reinterprets the bytes.
bool only_arranges(const NodeView& view) { return !view.is("view") || has_sizes(view); }

/// A reshape keeps the order of the elements, so an earlier reshape has no effect.
Replacements last_shape(const Match& match, Rewriter& rewriter) {
  const NodeView& second = match["second"];
  if (!reads(second, match.node("first"))) return {};  // it is only one of the sizes
  fx::Node& reshape = rewriter.graph().call_function(
      "torch.reshape", {match["first"].arg("input"), second.arg("shape")});
  return {{second.node, reshape}};
}

/// squeeze(unsqueeze(x, d), d) is x.
Replacements nothing(const Match& match, Rewriter&) {
  const fx::Value &added = match["first"].arg("dim"), &removed = match["second"].arg("dim");
  if (!added.is_int() || !added.same_as(removed)) return {};
  return {{&match.node("second"), match["first"].arg("input")}};
}

}  // namespace

Pass merge_reshapes() {
  const PatternNode arranged{
      .name = "first",
      .operators = {"reshape", "view", "flatten", "unflatten", "ravel", "squeeze", "unsqueeze"},
      .check = only_arranges};
  return {.name = "merge_reshapes",
          .summary = "merge consecutive reshapes into the last one",
          .stage = Stage::Simplify,
          .rules = {{Pattern({arranged,
                              {.name = "second",
                               .operators = {"reshape", "view"},
                               .inputs = {"first"},
                               .order = InputOrder::Subset,
                               .check = has_sizes}}),
                     last_shape},
                    {Pattern({{.name = "first", .operators = {"unsqueeze"}},
                              {.name = "second", .operators = {"squeeze"}, .inputs = {"first"}}}),
                     nothing}}};
}

}  // namespace sparsebit::passes
