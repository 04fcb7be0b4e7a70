#include "passes/all_passes.h"
#include "passes/values.h"

#include <cmath>

namespace sparsebit::passes {
namespace {

/// A call that clips its input to [0, high].
fx::Node& relu_with_limit(const fx::Value& x, double high, fx::Graph& graph) {
  if (std::isinf(high)) return graph.call_function("torch.relu", {x});
  if (high == 6) return graph.call_function("torch.nn.functional.relu6", {x});
  return graph.call_function("torch.clamp", {x, 0.0, high});
}

Replacements of_bounds(const Match& match, Rewriter& rewriter) {
  const NodeView& step = match["step"];
  const std::optional<Bounds> bounds = bounds_of(step, rewriter);
  const bool is_relu =
      bounds && bounds->low == 0 && (std::isinf(bounds->high) || bounds->high == 6);
  const fx::Value& x = step.arg("input");
  if (!is_relu || !is_known_float(x, rewriter)) return {};
  return {{step.node, relu_with_limit(x, bounds->high, rewriter.graph())}};
}

Replacements of_relu_and_limit(const Match& match, Rewriter& rewriter) {
  const NodeView& step = match["step"];
  const std::optional<Bounds> bounds = bounds_of(step, rewriter);
  const fx::Value& x = match["relu"].arg("input");
  const bool fits = bounds && bounds->low <= 0 && bounds->high > 0 &&
                    reads(step, match.node("relu")) && is_known_float(x, rewriter);
  if (!fits) return {};
  return {{step.node, relu_with_limit(x, bounds->high, rewriter.graph())}};
}

}  // namespace

Pass recognize_relu() {
  return {.name = "recognize_relu",
          .summary = "turn clamp(x, 0) and maximum(x, 0) into relu, or relu6 with the limit 6",
          .stage = Stage::Simplify,
          .rules = {{Pattern({{.name = "relu", .operators = {"relu"}, .users = Users::Inside},
                              {.name = "step",
                               .operators = {"clamp", "hardtanh", "minimum", "relu6"},
                               .inputs = {"relu"},
                               .order = InputOrder::Subset}}),
                     of_relu_and_limit},
                    {Pattern({{.name = "step", .operators = {"clamp", "hardtanh", "maximum"}}}),
                     of_bounds}}};
}

}  // namespace sparsebit::passes
