#include "passes/all_passes.h"
#include "passes/inner_step.h"
#include "passes/values.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sparsebit::passes {
namespace {

using Nodes = std::vector<PatternNode>;

PatternNode gelu_last(PatternNode node) {
  node.users = Users::Free;
  return node;
}

/// The three positions of the factor 1/2 in x * 1/2 * bracket; the node "half" applies it.
std::vector<Pattern> with_half(const Nodes& bracket) {
  const auto with = [&](std::initializer_list<PatternNode> rest) {
    Nodes nodes = bracket;
    nodes.insert(nodes.end(), rest);
    return Pattern(std::move(nodes));
  };
  return {with({inner_step("product", {"mul"}, {"x", "bracket"}),
                gelu_last(inner_step("half", {"mul", "div"}, {"product"}))}),
          with({inner_step("half", {"mul", "div"}, {"x"}),
                gelu_last(inner_step("product", {"mul"}, {"half", "bracket"}))}),
          with({inner_step("half", {"mul", "div"}, {"bracket"}),
                gelu_last(inner_step("product", {"mul"}, {"x", "half"}))})};
}

bool halves_product(const Match& match) {
  const NodeView& half = match["half"];
  return std::find(half.inputs.begin(), half.inputs.end(), &match.node("product")) !=
         half.inputs.end();
}

/// Whether "half" halves one of its inputs; the others are constants.
bool halves(const Match& match, const Rewriter& rewriter) {
  const NodeView& half = match["half"];
  return std::any_of(half.inputs.begin(), half.inputs.end(), [&](const fx::Node* input) {
    return multiplies(half, *input, 0.5, rewriter);
  });
}

Replacements by_gelu(const Match& match, Rewriter& rewriter, fx::Kwargs options) {
  if (!is_known_float(match.node("x"), rewriter)) return {};
  fx::Node& gelu = rewriter.graph().call_function("torch.nn.functional.gelu", {match.node("x")},
                                                  std::move(options));
  return {{&match.node(halves_product(match) ? "half" : "product"), gelu}};
}

/// x / 2 * (1 + erf(x / sqrt(2)))
Replacements by_exact_gelu(const Match& match, Rewriter& rewriter) {
  const bool right =
      multiplies(match["scaled"], match.node("x"), 1 / std::numbers::sqrt2, rewriter) &&
      adds(match["bracket"], match.node("erf"), 1, rewriter) && halves(match, rewriter);
  return right ? by_gelu(match, rewriter, {}) : Replacements();
}

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))
Replacements by_tanh_gelu(const Match& match, Rewriter& rewriter) {
  const double root = std::sqrt(2 / std::numbers::pi);
  const bool right =
      is_number(match["cube"].arg("exponent"), 3, rewriter) &&
      multiplies(match["small"], match.node("cube"), 0.044715, rewriter) &&
      is_plain(match["sum"]) && multiplies(match["scaled"], match.node("sum"), root, rewriter) &&
      adds(match["bracket"], match.node("tanh"), 1, rewriter) && halves(match, rewriter);
  return right ? by_gelu(match, rewriter, {{"approximate", "tanh"}}) : Replacements();
}

}  // namespace

Pass recognize_gelu() {
  const Nodes with_erf_bracket = {{.name = "x"},
                                  inner_step("scaled", {"div", "mul"}, {"x"}),
                                  inner_step("erf", {"erf"}, {"scaled"}),
                                  inner_step("bracket", {"add"}, {"erf"})};
  const Nodes with_tanh_bracket = {{.name = "x"},
                                   inner_step("cube", {"pow"}, {"x"}),
                                   inner_step("small", {"mul"}, {"cube"}),
                                   inner_step("sum", {"add"}, {"x", "small"}),
                                   inner_step("scaled", {"mul"}, {"sum"}),
                                   inner_step("tanh", {"tanh"}, {"scaled"}),
                                   inner_step("bracket", {"add"}, {"tanh"})};
  Pass pass{.name = "recognize_gelu",
            .summary = "turn x / 2 * (1 + erf(x / sqrt(2))) and its form with tanh into gelu",
            .stage = Stage::Simplify};
  for (Pattern& pattern : with_half(with_erf_bracket))
    pass.rules.push_back({std::move(pattern), by_exact_gelu});
  for (Pattern& pattern : with_half(with_tanh_bracket))
    pass.rules.push_back({std::move(pattern), by_tanh_gelu});
  return pass;
}

}  // namespace sparsebit::passes
