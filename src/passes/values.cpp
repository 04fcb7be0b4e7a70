#include "passes/values.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sparsebit::passes {
namespace {

/// Operators whose result has the rank of their first input.
constexpr std::array kRankKeepers = {
    "relu", "relu6",   "leaky_relu", "prelu",  "sigmoid",    "silu",       "gelu",    "hardswish",
    "tanh", "dropout", "transpose",  "linear", "batch_norm", "layer_norm", "softmax", "identity"};

/// The rank of a list of sizes. One node alone may stand for several: `x.view(y.size())`.
std::optional<int64_t> rank_of_sizes(const fx::Value& sizes) {
  if (!sizes.is_sequence()) return std::nullopt;
  const std::vector<fx::Value>& items = sizes.items();
  const auto is_size = [](const fx::Value& item) { return item.is_int() || item.is_node(); };
  const bool alone = items.size() == 1 && items.front().is_node();
  if (alone || !std::all_of(items.begin(), items.end(), is_size)) return std::nullopt;
  return static_cast<int64_t>(items.size());
}

std::optional<int64_t> rank_of_flattened(const fx::OperatorCall& call) {
  const fx::Value &first = call.args["start_dim"], &last = call.args["end_dim"];
  const bool to_the_end =
      first.is_int() && first.to_int() >= 0 && last.is_int() && last.to_int() == -1;
  return to_the_end ? std::optional(first.to_int() + 1) : std::nullopt;
}

std::optional<int64_t> rank_of_node(const fx::Node& node, const Rewriter& rewriter,
                                    int steps_left) {
  if (const auto& info = node.tensor_info()) return static_cast<int64_t>(info->shape.size());
  const bool is_known = steps_left > 0 && rewriter.index().contains(node);
  const auto& call = is_known ? rewriter.index().view(node).call : std::nullopt;
  if (!call) return std::nullopt;
  const std::string& op = call->op->name;
  if (op == "flatten") return rank_of_flattened(*call);
  if (op == "reshape" || op == "view") return rank_of_sizes(call->args["shape"]);
  if (op == "permute") return rank_of_sizes(call->args["dims"]);
  const bool keeps = std::find(kRankKeepers.begin(), kRankKeepers.end(), op) != kRankKeepers.end();
  const fx::Value& input = call->args.values().front();
  return keeps && input.is_node() ? rank_of_node(input.node(), rewriter, steps_left - 1)
                                  : std::nullopt;
}

/// Operators that take floating numbers only, and give them.
constexpr std::array kFloatGivers = {
    "conv1d",     "conv2d",     "conv3d",     "conv_transpose1d", "conv_transpose2d",
    "linear",     "batch_norm", "layer_norm", "conv_transpose3d", "group_norm",
    "gelu",       "silu",       "hardswish",  "hardsigmoid",      "softmax",
    "leaky_relu", "elu",        "prelu",      "sigmoid",          "tanh"};

/// Operators that give the type of their first input, or of a larger one.
constexpr std::array kTypeKeepers = {
    "relu",    "relu6",   "hardtanh",  "dropout",    "identity",   "add",
    "sub",     "mul",     "div",       "neg",        "abs",        "clamp",
    "reshape", "view",    "flatten",   "permute",    "transpose",  "squeeze",
    "pad",     "getitem", "unsqueeze", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"};

bool gives_floats(const fx::Node& node, const Rewriter& rewriter, int steps_left) {
  if (const auto& info = node.tensor_info()) return at::isFloatingType(info->dtype);
  const bool is_known = steps_left > 0 && rewriter.index().contains(node);
  const auto& call = is_known ? rewriter.index().view(node).call : std::nullopt;
  if (!call) return false;
  const auto is_among = [&](const auto& names) {
    return std::find(names.begin(), names.end(), call->op->name) != names.end();
  };
  const fx::Value& input = call->args.values().front();
  return is_among(kFloatGivers) || (is_among(kTypeKeepers) && input.is_node() &&
                                    gives_floats(input.node(), rewriter, steps_left - 1));
}

bool is_close(double found, double expected) {
  constexpr double kFloat32Digits = 1e-6;
  return std::abs(found - expected) <= kFloat32Digits * std::abs(expected);
}

}  // namespace

// --- constants ---------------------------------------------------------------------------------

const at::Tensor* constant_tensor(const fx::Value& value, const Rewriter& rewriter) {
  const at::Tensor* tensor = nullptr;
  if (value.is_tensor()) tensor = &value.tensor();
  if (value.is_node() && value.node().op() == fx::Opcode::GetAttr)
    tensor = rewriter.module().find_tensor(value.node().target());
  return tensor && !rewriter.memory().is_written(*tensor) ? tensor : nullptr;
}

std::optional<fx::Args> with_constants(const NodeView& view, const Rewriter& rewriter) {
  std::vector<fx::Value> values;
  for (const fx::Value& value : view.call->args.values()) {
    const at::Tensor* tensor = constant_tensor(value, rewriter);
    if (value.is_tensor() && !tensor) return std::nullopt;
    values.push_back(tensor ? fx::Value(*tensor) : value);
  }
  return fx::Args(view.call->op->schema, std::move(values));
}

bool reads_shared_parameter(const fx::Node& node, const Rewriter& rewriter) {
  const at::Tensor* tensor = rewriter.module().find_tensor(node.target());
  return tensor && rewriter.index().readers_of(*tensor) > 1;
}

std::optional<double> constant_number(const fx::Value& value, const Rewriter& rewriter) {
  if (value.is_number()) return value.to_double();
  const at::Tensor* tensor = constant_tensor(value, rewriter);
  const bool is_one = tensor && tensor->dim() == 0 && !tensor->is_complex();
  return is_one ? std::optional(tensor->item().toDouble()) : std::nullopt;
}

bool is_number(const fx::Value& value, double number, const Rewriter& rewriter) {
  const std::optional<double> found = constant_number(value, rewriter);
  return found && is_close(*found, number);
}

std::optional<std::vector<int64_t>> constant_ints(const fx::Value& value) {
  if (value.is_int()) return std::vector<int64_t>{value.to_int()};
  if (!value.is_sequence()) return std::nullopt;
  std::vector<int64_t> ints;
  for (const fx::Value& item : value.items()) {
    if (!item.is_int()) return std::nullopt;
    ints.push_back(item.to_int());
  }
  return ints;
}

// --- shapes and types --------------------------------------------------------------------------

std::optional<int64_t> rank_of(const fx::Value& value, const Rewriter& rewriter) {
  constexpr int kMostSteps = 8;  // a rank that is older than this is not worth the search
  if (const at::Tensor* tensor = constant_tensor(value, rewriter)) return tensor->dim();
  return value.is_node() ? rank_of_node(value.node(), rewriter, kMostSteps) : std::nullopt;
}

std::optional<int64_t> last_size_of(const fx::Value& value) {
  if (!value.is_node() || !value.node().tensor_info()) return std::nullopt;
  const std::vector<int64_t>& shape = value.node().tensor_info()->shape;
  return shape.empty() || shape.back() < 0 ? std::nullopt : std::optional(shape.back());
}

std::optional<at::ScalarType> type_of(const fx::Value& value, const Rewriter& rewriter) {
  if (const at::Tensor* tensor = constant_tensor(value, rewriter)) return tensor->scalar_type();
  if (!value.is_node() || !value.node().tensor_info()) return std::nullopt;
  return value.node().tensor_info()->dtype;
}

bool is_known_float(const fx::Value& value, const Rewriter& rewriter) {
  constexpr int kMostSteps = 8;
  if (const auto type = type_of(value, rewriter)) return at::isFloatingType(*type);
  return value.is_node() && gives_floats(value.node(), rewriter, kMostSteps);
}

// --- operators of two --------------------------------------------------------------------------

bool is_plain(const NodeView& view) {
  const fx::Args& args = view.call->args;
  const auto is_one = [](const fx::Value& value) {
    return value.is_number() && value.to_double() == 1;
  };
  return (!args.has("alpha") || is_one(args["alpha"])) &&
         (!args.has("rounding_mode") || args["rounding_mode"].is_none());
}

std::optional<double> relu_limit(const NodeView& view, const Rewriter& rewriter) {
  if (view.is("relu6")) return 6;
  if (!view.is("clamp") && !view.is("hardtanh")) return std::nullopt;
  const fx::Value& low = view.arg(view.is("clamp") ? "min" : "min_val");
  const fx::Value& high = view.arg(view.is("clamp") ? "max" : "max_val");
  const bool has_axes = rank_of(view.arg("input"), rewriter).value_or(0) > 0;
  const auto number = [&](const fx::Value& bound) -> std::optional<double> {
    const at::Tensor* tensor = constant_tensor(bound, rewriter);
    const bool is_row_of_one = tensor && tensor->dim() == 1 && tensor->numel() == 1;
    // Files have bounds of shape [1], which leave the shape alone if there is one.
    return is_row_of_one && has_axes ? tensor->item<double>() : constant_number(bound, rewriter);
  };
  return number(low) == 0. ? number(high) : std::nullopt;
}

bool reads(const NodeView& view, const fx::Node& node) {
  const fx::Value& input = view.arg("input");
  return input.is_node() && &input.node() == &node;
}

const fx::Value& other_operand(const NodeView& view, const fx::Node& known) {
  return view.arg(reads(view, known) ? "other" : "input");
}

const fx::Value& right_side(const NodeView& product) {
  return product.arg(product.is("matmul") ? "other" : "mat2");
}

std::optional<double> factor_of(const NodeView& view, const fx::Node& known,
                                const Rewriter& rewriter) {
  const bool divides = view.is("div");
  if (!is_plain(view) || (divides && !reads(view, known))) return std::nullopt;
  const std::optional<double> number = constant_number(other_operand(view, known), rewriter);
  if (!number || *number == 0) return std::nullopt;
  return divides ? 1 / *number : *number;
}

bool multiplies(const NodeView& view, const fx::Node& known, double factor,
                const Rewriter& rewriter) {
  const std::optional<double> found = factor_of(view, known, rewriter);
  return found && is_close(*found, factor);
}

bool adds(const NodeView& view, const fx::Node& known, double number, const Rewriter& rewriter) {
  return is_plain(view) && is_number(other_operand(view, known), number, rewriter);
}

}  // namespace sparsebit::passes
