#include "passes/all_passes.h"
#include "passes/inner_step.h"
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

/// @param square  one input, or twice the same
/// @param normal  divided by a root, or multiplied with an inverse root
Pattern norm_pattern(PatternNode square, const char* root, PatternNode normal) {
  PatternNode mean = inner_step("mean", {"mean"}, {"x"}, InputOrder::Exact);
  PatternNode variance = inner_step("variance", {"mean"}, {"square"}, InputOrder::Exact);
  PatternNode stable = inner_step("stable", {"add"}, {"variance"});
  PatternNode scaled = inner_step("scaled", {"mul"}, {"normal"});
  PatternNode shifted = inner_step("shifted", {"add"}, {"scaled"});
  PatternNode centred = inner_step("centred", {"sub"}, {"x", "mean"}, InputOrder::Exact);
  mean.check = variance.check = keeps_one_axis;
  stable.check = shifted.check = centred.check = is_plain;
  shifted.users = Users::Free;
  return Pattern({{.name = "x"},
                  mean,
                  centred,
                  std::move(square),
                  variance,
                  stable,
                  inner_step("deviation", {root}, {"stable"}, InputOrder::Exact),
                  std::move(normal),
                  scaled,
                  shifted});
}

}  // namespace

Pass recognize_layer_norm() {
  const PatternNode power = inner_step("square", {"pow"}, {"centred"});
  const PatternNode product =
      inner_step("square", {"mul"}, {"centred", "centred"}, InputOrder::Exact);
  PatternNode quotient = inner_step("normal", {"div"}, {"centred", "deviation"}, InputOrder::Exact);
  quotient.check = is_plain;
  const PatternNode multiplied =
      inner_step("normal", {"mul"}, {"centred", "deviation"}, InputOrder::Any);
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
