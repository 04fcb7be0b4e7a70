#include "passes/values.h"

#include "passes/layers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sparsebit::passes {
namespace {

/// How many nodes upstream ranks and types are searched for.
constexpr int kMostSteps = 8;

/// The rank given by a list of sizes; unknown for a single node, which may stand for several sizes:
/// `x.view(y.size())`.
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

/// Whether a linear layer has a matrix as weight; a vector would remove an axis.
bool has_matrix(const fx::OperatorCall& linear, const Rewriter& rewriter) {
  const at::Tensor* weight = constant_tensor(linear.args["weight"], rewriter);
  return weight && weight->dim() == 2;
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
  const bool keeps = op == "linear" ? has_matrix(*call, rewriter) : call->op->keeps_rank;
  if (!keeps) return std::nullopt;
  const fx::Value& input = call->args.values().front();
  return input.is_node() ? rank_of_node(input.node(), rewriter, steps_left - 1) : std::nullopt;
}

bool is_float(const fx::Value& value, const Rewriter& rewriter, int steps_left) {
  if (const auto type = type_of(value, rewriter)) return at::isFloatingType(*type);
  const bool is_known =
      steps_left > 0 && value.is_node() && rewriter.index().contains(value.node());
  const auto& call = is_known ? rewriter.index().view(value.node()).call : std::nullopt;
  if (!call || call->op->elements == fx::Elements::Unknown) return false;
  if (call->op->elements == fx::Elements::Floating) return true;
  const std::vector<fx::Value>& operands = call->args.values();
  return std::any_of(operands.begin(), operands.end(), [&](const fx::Value& operand) {
    return is_float(operand, rewriter, steps_left - 1);
  });
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
  return is_float(value, rewriter, kMostSteps);
}

// --- operators ---------------------------------------------------------------------------------

bool draws_random_numbers(const fx::OperatorCall& call) {
  const auto is_zero = [&](const char* name) {
    return call.args.has(name) && call.args[name].is_number() && call.args[name].to_double() == 0;
  };
  return call.op->random && !is_zero("p") && !is_zero("dropout_p") && !is_zero("training");
}

// --- binary operators --------------------------------------------------------------------------

bool is_plain(const NodeView& view) {
  const fx::Args& args = view.call->args;
  const auto is_one = [](const fx::Value& value) {
    return value.is_number() && value.to_double() == 1;
  };
  return (!args.has("alpha") || is_one(args["alpha"])) &&
         (!args.has("rounding_mode") || args["rounding_mode"].is_none());
}

namespace {

/// Whether x is known to have at least one axis.
bool has_axes(const fx::Value& x, const Rewriter& rewriter) {
  if (const std::optional<int64_t> rank = rank_of(x, rewriter)) return *rank > 0;
  const bool is_known = x.is_node() && rewriter.index().contains(x.node());
  const auto& call = is_known ? rewriter.index().view(x.node()).call : std::nullopt;
  const std::vector<std::string>& layers = layer_operators();  // channels are an axis
  return call && std::find(layers.begin(), layers.end(), call->op->name) != layers.end();
}

/// A bound of x as a number. Some files have bounds of shape [1]: they do not change the shape of x
/// if it has axes, and a number in their place does not change its type.
std::optional<double> bound_number(const fx::Value& bound, const fx::Value& x,
                                   const Rewriter& rewriter) {
  if (bound.is_number()) return bound.to_double();
  const at::Tensor* tensor = constant_tensor(bound, rewriter);
  if (!tensor || tensor->numel() != 1 || tensor->is_complex()) return std::nullopt;
  const bool same_type = type_of(x, rewriter) == tensor->scalar_type();
  const bool fits = tensor->dim() == 0 ? same_type || has_axes(x, rewriter)
                                       : tensor->dim() == 1 && same_type && has_axes(x, rewriter);
  return fits ? std::optional(tensor->item().toDouble()) : std::nullopt;
}

}  // namespace

std::optional<Bounds> bounds_of(const NodeView& view, const Rewriter& rewriter) {
  struct Limiter {
    const char *op, *low, *high;  // arguments; null where there is none
  };
  constexpr std::array<Limiter, 4> kLimiters = {{{"clamp", "min", "max"},
                                                 {"hardtanh", "min_val", "max_val"},
                                                 {"maximum", "other", nullptr},
                                                 {"minimum", nullptr, "other"}}};
  if (view.is("relu")) return Bounds{.low = 0};
  if (view.is("relu6")) return Bounds{.low = 0, .high = 6};
  const auto limiter = std::find_if(kLimiters.begin(), kLimiters.end(),
                                    [&](const Limiter& known) { return view.is(known.op); });
  if (limiter == kLimiters.end()) return std::nullopt;
  const auto number = [&](const char* name, double none) -> std::optional<double> {
    if (!name || view.arg(name).is_none()) return none;
    return bound_number(view.arg(name), view.arg("input"), rewriter);
  };
  const std::optional<double> low = number(limiter->low, Bounds().low);
  const std::optional<double> high = number(limiter->high, Bounds().high);
  return low && high ? std::optional(Bounds{*low, *high}) : std::nullopt;
}

std::optional<double> relu_limit(const NodeView& view, const Rewriter& rewriter) {
  const std::optional<Bounds> bounds = bounds_of(view, rewriter);
  const bool is_limited_relu = bounds && bounds->low == 0 && std::isfinite(bounds->high);
  return is_limited_relu ? std::optional(bounds->high) : std::nullopt;
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
