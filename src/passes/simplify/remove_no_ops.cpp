#include "passes/all_passes.h"
#include "passes/values.h"

#include <algorithm>

namespace sparsebit::passes {
namespace {

/// Whether an operand that is a number leaves the type unchanged, according to the recorded types.
/// It never changes the shape.
bool leaves_type(const NodeView& view, const fx::Value& x) {
  return x.is_node() && x.node().tensor_info() && view.node->tensor_info() &&
         x.node().tensor_info()->dtype == view.node->tensor_info()->dtype;
}

/// x * 1, x / 1, x + 0, x - 0, x ** 1.
Replacements arithmetic(const Match& match, Rewriter& rewriter) {
  const NodeView& view = match["step"];
  const bool is_sum = view.is("add") || view.is("sub");
  const auto is_neutral = [&](const fx::Value& value) {
    const at::Tensor* tensor = constant_tensor(value, rewriter);
    const bool is_trained = tensor && tensor->requires_grad();  // its value may change
    return !is_trained && constant_number(value, rewriter) == (is_sum ? 0. : 1.);
  };
  const fx::Value& x = view.arg("input");
  const fx::Value& other = view.arg(view.is("pow") ? "exponent" : "other");
  if (!is_plain(view)) return {};
  if (is_neutral(other) && leaves_type(view, x)) return {{view.node, x}};
  const bool commutes = view.is("add") || view.is("mul");
  if (commutes && is_neutral(x) && leaves_type(view, other)) return {{view.node, other}};
  return {};
}

Replacements one_part(const Match& match, Rewriter&) {
  const fx::Value& parts = match["step"].arg("tensors");
  if (!parts.is_sequence() || parts.items().size() != 1) return {};
  return {{&match.node("step"), parts.items().front()}};
}

/// `where` with a constant condition: the other branch is dead. The chosen branch must have the
/// result's shape and type by itself, so the dead one has to be a number.
Replacements only_branch(const Match& match, Rewriter& rewriter) {
  const NodeView& view = match["step"];
  const std::optional<double> condition = constant_number(view.arg("condition"), rewriter);
  if (!condition) return {};
  const fx::Value& chosen = view.arg(*condition != 0 ? "input" : "other");
  const fx::Value& dead = view.arg(*condition != 0 ? "other" : "input");
  const bool alone = constant_number(dead, rewriter) && leaves_type(view, chosen);
  return alone ? Replacements{{view.node, chosen}} : Replacements();
}

Replacements no_padding(const Match& match, Rewriter&) {
  const std::optional<std::vector<int64_t>> amounts = constant_ints(match["step"].arg("padding"));
  const bool none = amounts && std::all_of(amounts->begin(), amounts->end(),
                                           [](int64_t amount) { return amount == 0; });
  if (!none || match["step"].arg("padding").is_int()) return {};
  return {{&match.node("step"), match["step"].arg("input")}};
}

Rule rule_for(std::vector<std::string> operators,
              Replacements (*rewrite)(const Match&, Rewriter&)) {
  return {Pattern({{.name = "step", .operators = std::move(operators)}}), rewrite};
}

}  // namespace

Pass remove_no_ops() {
  return {.name = "remove_no_ops",
          .summary = "remove x * 1, x + 0, cat of one tensor, empty padding, branches never taken",
          .stage = Stage::Simplify,
          .rules = {rule_for({"add", "sub", "mul", "div", "pow"}, arithmetic),
                    rule_for({"cat"}, one_part), rule_for({"where"}, only_branch),
                    rule_for({"pad"}, no_padding)}};
}

}  // namespace sparsebit::passes
