#include "passes/all_passes.h"
#include "passes/values.h"

#include <ATen/ATen.h>

namespace sparsebit::passes {
namespace {

/// Over one axis, which stays, and in the type of the input.
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

/// A constant with one number, of the right type, for each of the last axis.
bool is_row(const at::Tensor* tensor, int64_t size, std::optional<at::ScalarType> type) {
  return tensor && tensor->sizes() == at::IntArrayRef({size}) && tensor->scalar_type() == type;
}

bool is_square(const NodeView& view, const Rewriter& rewriter) {
  if (view.is("pow")) return is_number(view.arg("exponent"), 2, rewriter);
  return view.inputs.size() == 2 && view.inputs[0] == view.inputs[1];
}

Replacements by_layer_norm(const Match& match, Rewriter& rewriter) {
  const fx::Value x = match.node("x");
  const std::optional<int64_t> size = last_size_of(x), rank = rank_of(x, rewriter);
  const fx::Value& weight = other_operand(match["scaled"], match.node("normal"));
  const fx::Value& bias = other_operand(match["shifted"], match.node("scaled"));
  const std::optional<double> eps =
      constant_number(other_operand(match["stable"], match.node("variance")), rewriter);
  const bool right = size && eps && is_square(match["square"], rewriter) &&
                     is_over_last_axis(match["mean"], *rank) &&
                     is_over_last_axis(match["variance"], *rank) &&
                     is_row(constant_tensor(weight, rewriter), *size, type_of(x, rewriter)) &&
                     is_row(constant_tensor(bias, rewriter), *size, type_of(x, rewriter));
  if (!right) return {};
  return {{&match.node("shifted"),
           rewriter.graph().call_function("torch.nn.functional.layer_norm",
                                          {x, fx::List({*size}), weight, bias, *eps})}};
}

PatternNode norm_step(const char* name, std::vector<std::string> operators,
                      std::vector<std::string> inputs, InputOrder order = InputOrder::Exact) {
  return {.name = name,
          .operators = std::move(operators),
          .inputs = std::move(inputs),
          .order = order,
          .users = Users::Inside};
}

/// @param square  one input, or twice the same
/// @param normal  divided by a root, or multiplied with an inverse root
Pattern norm_pattern(PatternNode square, const char* root, PatternNode normal) {
  PatternNode mean = norm_step("mean", {"mean"}, {"x"});
  PatternNode variance = norm_step("variance", {"mean"}, {"square"});
  PatternNode stable = norm_step("stable", {"add"}, {"variance"}, InputOrder::Subset);
  PatternNode scaled = norm_step("scaled", {"mul"}, {"normal"}, InputOrder::Subset);
  PatternNode shifted = norm_step("shifted", {"add"}, {"scaled"}, InputOrder::Subset);
  PatternNode centred = norm_step("centred", {"sub"}, {"x", "mean"});
  mean.check = variance.check = keeps_one_axis;
  stable.check = shifted.check = centred.check = is_plain;
  shifted.users = Users::Free;
  return Pattern({{.name = "x"},
                  mean,
                  centred,
                  std::move(square),
                  variance,
                  stable,
                  norm_step("deviation", {root}, {"stable"}),
                  std::move(normal),
                  scaled,
                  shifted});
}

}  // namespace

Pass recognize_layer_norm() {
  const PatternNode power = norm_step("square", {"pow"}, {"centred"}, InputOrder::Subset);
  const PatternNode product = norm_step("square", {"mul"}, {"centred", "centred"});
  PatternNode quotient = norm_step("normal", {"div"}, {"centred", "deviation"});
  quotient.check = is_plain;
  const PatternNode multiplied =
      norm_step("normal", {"mul"}, {"centred", "deviation"}, InputOrder::Any);
  Pass pass{.name = "recognize_layer_norm",
            .summary = "(x - mean) / sqrt(variance + eps) * weight + bias is layer_norm",
            .stage = Stage::Simplify};
  for (const PatternNode& square : {power, product}) {
    pass.rules.push_back({norm_pattern(square, "sqrt", quotient), by_layer_norm});
    pass.rules.push_back({norm_pattern(square, "rsqrt", multiplied), by_layer_norm});
  }
  return pass;
}

}  // namespace sparsebit::passes
