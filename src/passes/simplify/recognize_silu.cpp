#include "passes/all_passes.h"
#include "passes/values.h"

namespace sparsebit::passes {
namespace {

Replacements by_silu(const Match& match, Rewriter& rewriter) {
  if (!is_known_float(match.node("x"), rewriter)) return {};
  return {{&match.node("product"),
           rewriter.graph().call_function("torch.nn.functional.silu", {match.node("x")})}};
}

}  // namespace

Pass recognize_silu() {
  return {
      .name = "recognize_silu",
      .summary = "turn x * sigmoid(x) into silu",
      .stage = Stage::Simplify,
      .rules = {
          {Pattern(
               {{.name = "x"},
                {.name = "gate", .operators = {"sigmoid"}, .inputs = {"x"}, .users = Users::Inside},
                {.name = "product",
                 .operators = {"mul"},
                 .inputs = {"x", "gate"},
                 .order = InputOrder::Any}}),
           by_silu}}};
}

}  // namespace sparsebit::passes
