// Operators that libtorch 1.13 does not have, or has with fewer arguments.

#include "frontends/torchscript/aten_rules.h"

#include <algorithm>
#include <limits>

namespace sparsebit::frontends::torchscript {
namespace {

using fx::Kwargs;
using fx::Value;
using Result = std::optional<ScriptValues>;

/// x / sqrt(mean(x^2) + eps) * weight
Result rms_norm(GraphBuilder& b, const AtenCall& call) {
  const Value x = call["input"], shape = call["normalized_shape"], weight = call["weight"];
  if (!shape.is_sequence()) return std::nullopt;
  std::vector<Value> axes;
  for (int64_t i = -static_cast<int64_t>(shape.items().size()); i < 0; ++i) axes.emplace_back(i);
  const double smallest = std::numeric_limits<float>::epsilon();
  const Value eps = call["eps"].is_none() ? Value(smallest) : call["eps"];
  const Value mean = b.function("torch.mean", {b.function("torch.square", {x})},
                                {{"dim", fx::List(std::move(axes))}, {"keepdim", true}});
  const Value factor = b.function("torch.rsqrt", {b.function("torch.add", {mean, eps})});
  const Value normal = b.function("torch.mul", {x, factor});
  return ScriptValues{weight.is_none() ? normal : b.function("torch.mul", {normal, weight})};
}

/// A softmax that gives zeros for rows that are masked completely, where softmax gives NaN.
Result safe_softmax(GraphBuilder& b, const AtenCall& call) {
  const Value x = call["self"], dim = call["dim"];
  Kwargs kwargs;
  if (!call["dtype"].is_none()) kwargs.emplace_back("dtype", call["dtype"]);
  const Value weights = b.function("torch.softmax", {x, dim}, std::move(kwargs));
  const Value masked = b.function("torch.eq", {x, -std::numeric_limits<double>::infinity()});
  const Value empty = b.function("torch.all", {masked, dim}, {{"keepdim", true}});
  return ScriptValues{b.function("torch.masked_fill", {weights, empty, 0.0})};
}

/// The results after the first are only for gradients.
Result batch_norm(GraphBuilder& b, const AtenCall& call) {
  const Value training = call.has("training") ? call["training"] : Value(false);
  ScriptValues out(call.outputs);
  out[0] = b.function("torch.nn.functional.batch_norm",
                      {call["input"], call["running_mean"], call["running_var"], call["weight"],
                       call["bias"], training, call["momentum"], call["eps"]});
  return out;
}

/// Axes from the last to the first, all counted from the same end; empty when they are not known.
std::optional<std::vector<int64_t>> descending_axes(const Value& dims) {
  if (!dims.is_sequence() || dims.contains_node()) return std::nullopt;
  std::vector<int64_t> axes = dims.ints();
  const auto from_end = [](int64_t axis) { return axis < 0; };
  const bool alike = std::all_of(axes.begin(), axes.end(), from_end) ||
                     std::none_of(axes.begin(), axes.end(), from_end);
  if (!alike) return std::nullopt;
  std::sort(axes.rbegin(), axes.rend());
  return axes;
}

/// any and all over several axes, as one reduction per axis, in an order in which removing an axis
/// does not renumber the remaining ones.
Result truth_of_axes(GraphBuilder& b, const AtenCall& call) {
  const auto axes = descending_axes(call["dim"]);
  if (!axes) return std::nullopt;
  std::vector<int64_t> order = *axes;
  if (!order.empty() && order[0] < 0) std::reverse(order.begin(), order.end());
  Value x = call["self"];
  for (const int64_t axis : order)
    x = b.function("torch." + call.name, {x, axis}, {{"keepdim", call["keepdim"]}});
  return ScriptValues{x};
}

Result truth_of_all(GraphBuilder& b, const AtenCall& call) {
  const char* target = call.name == "_is_any_true" ? "torch.any" : "torch.all";
  return ScriptValues{b.function(target, {call["self"]})};
}

/// The same for squeeze; axes may have sizes other than 1.
Result squeeze_axes(GraphBuilder& b, const AtenCall& call) {
  const auto axes = descending_axes(call["dim"]);
  if (!axes) return std::nullopt;
  std::vector<int64_t> order = *axes;
  if (!order.empty() && order[0] < 0) std::reverse(order.begin(), order.end());
  Value x = call["self"];
  for (const int64_t axis : order)
    x = call.name == "squeeze_" ? b.method("squeeze_", {x, axis})
                                : b.function("torch.squeeze", {x, axis});
  return ScriptValues{x};
}

Result unsafe_index(GraphBuilder& b, const AtenCall& call) {
  AtenCall plain = call;
  plain.name = "index";
  return write_special(b, plain);
}

Result reshape_copy(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{b.function("torch.reshape", {call["self"], call["size"]})};
}

Result lazy_clone(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{b.function("torch.clone", {call["self"]})};
}

Result prelu_kernel(GraphBuilder& b, const AtenCall& call) {
  return ScriptValues{b.function("torch.prelu", {call["self"], call["weight"]})};
}

/// Assertions about data are dropped: they hold for valid inputs.
Result leave_out(GraphBuilder&, const AtenCall& call) { return ScriptValues(call.outputs); }

}  // namespace

const AtenRules& newer_rules() {
  static const AtenRules all = {
      {"rms_norm", rms_norm},
      {"_safe_softmax", safe_softmax},
      {"_native_batch_norm_legit", batch_norm},
      {"_native_batch_norm_legit_no_training", batch_norm},
      {"any", truth_of_axes},
      {"all", truth_of_axes},
      {"_is_any_true", truth_of_all},
      {"_is_all_true", truth_of_all},
      {"squeeze", squeeze_axes},
      {"squeeze_", squeeze_axes},
      {"squeeze_copy", squeeze_axes},
      {"_unsafe_index", unsafe_index},
      {"_reshape_copy", reshape_copy},
      {"_lazy_clone", lazy_clone},
      {"_prelu_kernel", prelu_kernel},
      {"_assert_async", leave_out},
      {"_assert_scalar", leave_out},
      {"_assert_tensor_metadata", leave_out},
      {"sym_constrain_range", leave_out},
      {"sym_constrain_range_for_size", leave_out},
      {"_print", leave_out},
  };
  return all;
}

}  // namespace sparsebit::frontends::torchscript
