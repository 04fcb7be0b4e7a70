#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {
namespace {

bool is_list(const NodeResult& v) {
  return v.is_sequence() || (v.is_plain() && v.plain.is_sequence());
}

std::vector<NodeResult> items_of(const NodeResult& v) {
  if (v.is_sequence()) return v.items;
  return {v.plain.items().begin(), v.plain.items().end()};
}

bool is_list_kind(const NodeResult& v) {
  return v.is_sequence() ? v.is_list : v.plain.is<fx::List>();
}

/// `alpha * other`, unless alpha is 1.
NodeResult scaled(Call& c, const NodeResult& other) {
  const NodeResult alpha = c.val("alpha");
  const bool one = alpha.is_plain() && alpha.plain.is_number() && alpha.plain.to_double() == 1.0;
  return one ? other : combine(c, "Mul", other, alpha);
}

NodeResult add(Call& c) {
  const NodeResult a = c.val("input"), b = c.val("other");
  if (is_list(a) && is_list(b)) {
    std::vector<NodeResult> items = items_of(a), more = items_of(b);
    items.insert(items.end(), more.begin(), more.end());
    return NodeResult::sequence(std::move(items), is_list_kind(a));
  }
  return combine(c, "Add", a, scaled(c, b));
}

NodeResult mul(Call& c) {
  NodeResult a = c.val("input"), b = c.val("other");
  if (is_list(b)) std::swap(a, b);
  if (is_list(a)) {
    if (!b.is_plain()) c.unsupported("a list is repeated a number of times that is not fixed");
    std::vector<NodeResult> items;
    for (int64_t i = 0; i < b.plain.to_int(); ++i) {
      for (const NodeResult& item : items_of(a)) items.push_back(item);
    }
    return NodeResult::sequence(std::move(items), is_list_kind(a));
  }
  return combine(c, "Mul", a, b);
}

/// True division of integers gives floats.
NodeResult true_divide(Call& c, const NodeResult& a, const NodeResult& b) {
  at::ScalarType dtype = combined_type(a, b);
  const bool tensors = holds_tensor(a) || holds_tensor(b);
  if (at::isIntegralType(dtype, /*includeBool=*/true)) dtype = tensors ? at::kFloat : at::kDouble;
  return as_operands(c.w.div(c.operand(a, dtype), c.operand(b, dtype)), a, b);
}

NodeResult divide_and_round(Call& c, const NodeResult& a, const NodeResult& b, bool floor) {
  const at::ScalarType dtype = combined_type(a, b), work = computable(dtype);
  const OnnxTensor x = c.operand(a, work), y = c.operand(b, work);
  OnnxTensor result;
  if (floor) {
    result = floor_divide(c.w, x, y);
  } else {
    result = c.w.div(x, y);
    if (at::isFloatingType(work)) result = truncate(c.w, result);
  }
  return as_operands(c.w.cast(result, dtype), a, b);
}

NodeResult div(Call& c) {
  const NodeResult a = c.val("input"), b = c.val("other");
  if (c.is_none("rounding_mode")) return true_divide(c, a, b);
  return divide_and_round(c, a, b, c.text("rounding_mode") == "floor");
}

/// The result has the sign of the divisor.
NodeResult remainder(Call& c) {
  const NodeResult a = c.val("input"), b = c.val("other");
  const at::ScalarType dtype = combined_type(a, b), work = computable(dtype);
  const OnnxTensor x = c.operand(a, work), y = c.operand(b, work);
  GraphWriter& w = c.w;
  if (!at::isFloatingType(work))
    return as_operands(w.cast(w.op("Mod", {x, y}, {}, work, broadcast(x.shape, y.shape)), dtype), a,
                       b);
  const OnnxTensor rest = w.op("Mod", {x, y}, {{"fmod", 1}}, work, broadcast(x.shape, y.shape));
  const OnnxTensor zero = w.scalar_like(0, x);
  const OnnxTensor other_sign =
      w.logic("Xor", w.compare("Less", rest, zero), w.compare("Less", y, zero));
  const OnnxTensor some = w.logical_not(w.compare("Equal", rest, zero));
  return as_operands(w.where(w.logic("And", other_sign, some), w.add(rest, y), rest), a, b);
}

NodeResult fmod(Call& c) {
  const NodeResult a = c.val("input"), b = c.val("other");
  const at::ScalarType dtype = combined_type(a, b), work = computable(dtype);
  const OnnxTensor x = c.operand(a, work), y = c.operand(b, work);
  const OnnxTensor rest = c.w.op("Mod", {x, y}, {{"fmod", 1}}, work, broadcast(x.shape, y.shape));
  return as_operands(c.w.cast(rest, dtype), a, b);
}

NodeResult power(Call& c) {
  const NodeResult a = c.val("input"), b = c.val("exponent");
  const at::ScalarType dtype = combined_type(a, b);
  at::ScalarType work = computable(dtype);
  if (c.w.opset() < 12 && at::isIntegralType(work, true)) work = at::kDouble;
  const OnnxTensor x = c.operand(a, work);
  const bool constant = b.is_plain() && b.plain.is_number();
  const double exponent = constant ? b.plain.to_double() : 0.0;
  OnnxTensor result;
  if (constant && exponent == 2.0) {
    result = c.w.mul(x, x);
  } else if (constant && exponent == 0.5 && at::isFloatingType(work)) {
    result = c.w.unary("Sqrt", x);
  } else if (constant && exponent == -1.0 && at::isFloatingType(work)) {
    result = c.w.unary("Reciprocal", x);
  } else {
    result = c.w.pow(x, c.operand(b, work));
  }
  return as_operands(c.w.cast(result, dtype), a, b);
}

NodeResult negate(Call& c) {
  const NodeResult a = c.val("input");
  const OnnxTensor x = c.sym(a);
  const OnnxTensor negated = c.w.cast(c.w.neg(c.w.cast(x, computable(x.dtype))), x.dtype);
  return as_operands(negated, a, a);
}

NodeResult addc(Call& c, const std::string& type) {
  const NodeResult first = c.val("tensor1"), second = c.val("tensor2"), value = c.val("value");
  const NodeResult product = combine(c, "Mul", value, combine(c, type, first, second));
  return combine(c, "Add", c.val("input"), product);
}

NodeResult lerp(Call& c) {
  const NodeResult start = c.val("input"), end = c.val("end");
  return combine(c, "Add", start,
                 combine(c, "Mul", c.val("weight"), combine(c, "Sub", end, start)));
}

}  // namespace

void add_arithmetic_converters(Converters& table) {
  table.add("add", add);
  table.add("sub",
            [](Call& c) { return combine(c, "Sub", c.val("input"), scaled(c, c.val("other"))); });
  table.add("rsub",
            [](Call& c) { return combine(c, "Sub", c.val("other"), scaled(c, c.val("input"))); });
  table.add("mul", mul);
  table.add("div", div);
  table.add("floor_divide",
            [](Call& c) { return divide_and_round(c, c.val("input"), c.val("other"), true); });
  table.add("remainder", remainder);
  table.add("fmod", fmod);
  table.add("pow", power);
  table.add("math.pow", [](Call& c) -> NodeResult {
    return NodeResult::number(
        c.w.pow(c.scalar(c.val("input"), at::kDouble), c.scalar(c.val("exponent"), at::kDouble)));
  });
  table.add("neg", negate);
  table.add("pos", [](Call& c) { return c.val("input"); });
  table.add("addcmul", [](Call& c) { return addc(c, "Mul"); });
  table.add("addcdiv", [](Call& c) { return addc(c, "Div"); });
  table.add("lerp", lerp);
}

}  // namespace sparsebit::exports
