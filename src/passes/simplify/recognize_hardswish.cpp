#include "passes/all_passes.h"
#include "passes/values.h"

namespace sparsebit::passes {
namespace {

Replacements by_function(const NodeView& result, const char* name, const Match& match,
                         Rewriter& rewriter) {
  if (!is_known_float(match.node("x"), rewriter)) return {};
  const std::string target = std::string("torch.nn.functional.") + name;
  return {{result.node, rewriter.graph().call_function(target, {match.node("x")})}};
}

/// relu6(x + 3) / 6
Replacements hardsigmoid(const Match& match, Rewriter& rewriter) {
  const bool right = relu_limit(match["clipped"], rewriter) == 6. &&
                     adds(match["sum"], match.node("x"), 3, rewriter) &&
                     multiplies(match["scaled"], match.node("clipped"), 1. / 6, rewriter);
  return right ? by_function(match["scaled"], "hardsigmoid", match, rewriter) : Replacements();
}

/// x * hardsigmoid(x)
Replacements hardswish(const Match& match, Rewriter& rewriter) {
  return by_function(match["product"], "hardswish", match, rewriter);
}

/// (x * relu6(x + 3)) / 6
Replacements hardswish_of_product(const Match& match, Rewriter& rewriter) {
  const bool right = relu_limit(match["clipped"], rewriter) == 6. &&
                     adds(match["sum"], match.node("x"), 3, rewriter) &&
                     multiplies(match["scaled"], match.node("product"), 1. / 6, rewriter);
  return right ? by_function(match["scaled"], "hardswish", match, rewriter) : Replacements();
}

}  // namespace

Pass recognize_hardswish() {
  const PatternNode x{.name = "x"};
  const PatternNode sum{.name = "sum",
                        .operators = {"add"},
                        .inputs = {"x"},
                        .order = InputOrder::Subset,
                        .users = Users::Inside};
  const PatternNode clipped{.name = "clipped",
                            .operators = {"relu6", "clamp", "hardtanh"},
                            .inputs = {"sum"},
                            .order = InputOrder::Subset,
                            .users = Users::Inside};
  const PatternNode gate{
      .name = "gate", .operators = {"hardsigmoid"}, .inputs = {"x"}, .users = Users::Inside};
  const auto product = [](const char* factor, Users users) {
    return PatternNode{.name = "product",
                       .operators = {"mul"},
                       .inputs = {"x", factor},
                       .order = InputOrder::Any,
                       .users = users};
  };
  const auto scaled = [](const char* what) {
    return PatternNode{.name = "scaled",
                       .operators = {"div", "mul"},
                       .inputs = {what},
                       .order = InputOrder::Subset};
  };
  return {
      .name = "recognize_hardswish",
      .summary = "turn relu6(x + 3) / 6 into hardsigmoid, and x times that into hardswish",
      .stage = Stage::Simplify,
      .rules = {{Pattern({x, sum, clipped, product("clipped", Users::Inside), scaled("product")}),
                 hardswish_of_product},
                {Pattern({x, sum, clipped, scaled("clipped")}), hardsigmoid},
                {Pattern({x, gate, product("gate", Users::Free)}), hardswish}}};
}

}  // namespace sparsebit::passes
