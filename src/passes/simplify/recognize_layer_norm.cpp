#include "passes/all_passes.h"
#include "passes/inner_step.h"
#include "passes/values.h"

#include <ATen/ATen.h>

namespace sparsebit::passes {
namespace {

/// Whether a reduction is over one axis, with keepdim, in the type of the input.
bool keeps_one_axis(const NodeView& view) {
  const std::optional<std::vector<int64_t>> axes = constant_ints(view.arg("dim"));
  const fx::Value& keepdim = view.arg("keepdim");
  return axes && axes->size() == 1 && keepdim.is_bool() && keepdim.to_bool() &&
         view.arg("dtype").is_none();
}

bool is_over_last_axis(const NodeView& mean, int64_t rank) {
  const int64_t axis = constant_ints(mean.arg("dim"))->front();
  return axis == -1 || axis == rank - 1;
}

/// Whether a tensor has one number per element of the last axis, of the right type.
bool is_row(const at::Tensor* tensor, int64_t size, std::optional<at::ScalarType> type) {
  return tensor && tensor->sizes() == at::IntArrayRef({size}) && tensor->scalar_type() == type;
}

bool has_square(const Match& match, const Rewriter& rewriter) {
  const bool is_power = match.contains("square") && match["square"].is("pow");
  return !is_power || is_number(match["square"].arg("exponent"), 2, rewriter);
}

/// Whether a variance is biased (divided by the number of elements), over one axis with keepdim.
bool is_plain_variance(const NodeView& view) {
  const std::optional<std::vector<int64_t>> axes = constant_ints(view.arg("dim"));
  const fx::Value &unbiased = view.arg("unbiased"), &correction = view.arg("correction");
  const bool by_count = correction.is_none()
                            ? unbiased.is_bool() && !unbiased.to_bool()
                            : correction.is_number() && correction.to_double() == 0;
  return axes && axes->size() == 1 && view.arg("keepdim").is_bool() &&
         view.arg("keepdim").to_bool() && by_count;
}

/// Whether the inverse is written as 1 / sqrt(x), as exporters write rsqrt.
bool has_inverse(const Match& match, const Rewriter& rewriter) {
  const bool divides = match.contains("inverse") && match["inverse"].is("div");
  return !divides ||
         (is_plain(match["inverse"]) && is_number(match["inverse"].arg("input"), 1, rewriter));
}

/// The eps of a layer norm over the last axis of x; empty when the match is something else.
std::optional<double> eps_of(const Match& match, const Rewriter& rewriter) {
  const fx::Value x = match.node("x");
  const std::optional<int64_t> size = last_size_of(x), rank = rank_of(x, rewriter);
  const bool right = size && rank && has_square(match, rewriter) && has_inverse(match, rewriter) &&
                     is_over_last_axis(match["mean"], *rank) &&
                     is_over_last_axis(match["variance"], *rank);
  if (!right) return std::nullopt;
  return constant_number(other_operand(match["stable"], match.node("variance")), rewriter);
}

Replacements by_layer_norm(const NodeView& result, const Match& match, const fx::Value& weight,
                           const fx::Value& bias, Rewriter& rewriter) {
  const std::optional<double> eps = eps_of(match, rewriter);
  if (!eps) return {};
  const fx::Value x = match.node("x");
  return {{result.node,
           rewriter.graph().call_function("torch.nn.functional.layer_norm",
                                          {x, fx::List({*last_size_of(x)}), weight, bias, *eps})}};
}

Replacements with_affine(const Match& match, Rewriter& rewriter) {
  const fx::Value x = match.node("x");
  const int64_t size = last_size_of(x).value_or(0);
  const fx::Value& weight = other_operand(match["scaled"], match.node("normal"));
  const fx::Value& bias = other_operand(match["shifted"], match.node("scaled"));
  const bool right = is_row(constant_tensor(weight, rewriter), size, type_of(x, rewriter)) &&
                     is_row(constant_tensor(bias, rewriter), size, type_of(x, rewriter));
  return right ? by_layer_norm(match["shifted"], match, weight, bias, rewriter) : Replacements();
}

Replacements without_affine(const Match& match, Rewriter& rewriter) {
  return by_layer_norm(match["normal"], match, fx::None(), fx::None(), rewriter);
}

using Steps = std::vector<PatternNode>;

/// The ways to write the mean square of the centred values.
std::vector<Steps> variances() {
  PatternNode power = inner_step("square", {"pow"}, {"centred"});
  PatternNode product = inner_step("square", {"mul"}, {"centred", "centred"}, InputOrder::Exact);
  PatternNode mean_of_squares = inner_step("variance", {"mean"}, {"square"}, InputOrder::Exact);
  PatternNode variance = inner_step("variance", {"var"}, {"x"}, InputOrder::Exact);
  mean_of_squares.check = keeps_one_axis;
  variance.check = is_plain_variance;
  return {{power, mean_of_squares}, {product, mean_of_squares}, {variance}};
}

/// The ways to divide by the deviation: as a quotient, or as a product with its inverse.
std::vector<Steps> divisions() {
  PatternNode quotient = inner_step("normal", {"div"}, {"centred", "deviation"}, InputOrder::Exact);
  quotient.check = is_plain;
  const PatternNode product =
      inner_step("normal", {"mul"}, {"centred", "inverse"}, InputOrder::Any);
  const PatternNode root = inner_step("deviation", {"sqrt"}, {"stable"}, InputOrder::Exact);
  return {{root, quotient},
          {inner_step("inverse", {"rsqrt"}, {"stable"}, InputOrder::Exact), product},
          {root, inner_step("inverse", {"reciprocal", "div"}, {"deviation"}), product}};
}

Steps normal_steps(const Steps& variance, const Steps& division) {
  PatternNode mean = inner_step("mean", {"mean"}, {"x"}, InputOrder::Exact);
  PatternNode centred = inner_step("centred", {"sub"}, {"x", "mean"}, InputOrder::Exact);
  PatternNode stable = inner_step("stable", {"add"}, {"variance"});
  mean.check = keeps_one_axis;
  stable.check = centred.check = is_plain;
  Steps steps = {{.name = "x"}, mean, centred};
  steps.insert(steps.end(), variance.begin(), variance.end());
  steps.push_back(stable);
  steps.insert(steps.end(), division.begin(), division.end());
  return steps;
}

Pattern affine_pattern(Steps steps) {
  PatternNode scaled = inner_step("scaled", {"mul"}, {"normal"});
  PatternNode shifted = inner_step("shifted", {"add"}, {"scaled"});
  shifted.check = is_plain;
  shifted.users = Users::Free;
  steps.push_back(scaled);
  steps.push_back(shifted);
  return Pattern(std::move(steps));
}

Pattern plain_pattern(Steps steps) {
  steps.back().users = Users::Free;
  return Pattern(std::move(steps));
}

}  // namespace

Pass recognize_layer_norm() {
  Pass pass{.name = "recognize_layer_norm",
            .summary = "turn (x - mean) / sqrt(variance + eps) * weight + bias into layer_norm",
            .stage = Stage::Simplify};
  std::vector<Steps> ways;
  for (const Steps& variance : variances()) {
    for (const Steps& division : divisions()) ways.push_back(normal_steps(variance, division));
  }
  for (const Steps& steps : ways) pass.rules.push_back({affine_pattern(steps), with_affine});
  for (const Steps& steps : ways) pass.rules.push_back({plain_pattern(steps), without_affine});
  return pass;
}

}  // namespace sparsebit::passes
