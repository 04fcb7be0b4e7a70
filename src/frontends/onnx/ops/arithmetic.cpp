#include "frontends/onnx/ops/arithmetic.h"

#include "frontends/onnx/ops/families.h"
#include "frontends/onnx/ops/linear.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {

using fx::Value;

Value right_operand(Conversion& c) {
  if (c.opset() >= 7 || !c.attributes().flag("broadcast", false)) return c.tensor_or_number(1);
  if (!c.attributes().has("axis")) return c.tensor_or_number(1);
  const int64_t axis = c.attributes().integer("axis");
  const auto left = c.rank(0), right = c.info(1) ? c.rank(1) : std::nullopt;
  if (!left || !right) c.refuse("the ranks of its inputs are not known");
  const int64_t start = axis < 0 ? axis + *left : axis, behind = *left - start - *right;
  SPARSEBIT_CHECK(start >= 0 && behind >= 0, InvalidModel, "axis is ", axis, " for inputs of ",
                  *left, " and ", *right, " axes");
  Value b = c.tensor(1);
  for (int64_t i = 0; i < behind; ++i) b = c.function("torch.unsqueeze", {b, -1});
  return b;
}

Value call_binary(Conversion& c, const char* function, const char* python_operator) {
  Value b = right_operand(c);
  if (c.constant(0) && c.constant(1)) {
    return c.function(function, {c.tensor(0), b.is_number() ? c.tensor(1) : b});
  }
  const Value a = c.tensor_or_number(0);
  return c.function(a.is_number() ? python_operator : function, {a, b});
}

namespace {

bool is_integer(const std::optional<at::ScalarType>& dtype) {
  return dtype && at::isIntegralType(*dtype, /*includeBool=*/true);
}

void convert_add(Conversion& c) {
  if (absorb_bias(c)) return;
  c.give(call_binary(c, "torch.add", "operator.add"));
}

void convert_sub(Conversion& c) { c.give(call_binary(c, "torch.sub", "operator.sub")); }

void convert_mul(Conversion& c) { c.give(call_binary(c, "torch.mul", "operator.mul")); }

/// Integers are divided towards zero.
void convert_div(Conversion& c) {
  const auto dtype = c.dtype(0) ? c.dtype(0) : c.dtype(1);  // both have the same
  if (!dtype) return c.give(c.function("onnx.Div", {c.tensor(0), right_operand(c)}));
  if (!is_integer(dtype)) {
    return c.give(call_binary(c, "torch.div", "operator.truediv"));
  }
  const Value divisor = right_operand(c);
  c.give(c.function("torch.div", {c.tensor(0), divisor}, {{"rounding_mode", "trunc"}}));
}

/// The result has the base's type, whatever the exponent's.
void convert_pow(Conversion& c) {
  const auto base = c.dtype(0), exponent = c.dtype(1);
  if (!base || (is_integer(base) && !exponent)) {
    return c.give(c.function("onnx.Pow", {c.tensor(0), right_operand(c)}));
  }
  if (base == exponent) return c.give(call_binary(c, "torch.pow", "operator.pow"));
  if (is_integer(base) && exponent && !is_integer(exponent)) {
    const Value power =
        c.function("torch.pow", {c.method("to", {c.tensor(0), at::kDouble}), c.tensor(1)});
    return c.give(c.method("to", {power, *base}));
  }
  const Value number = right_operand(c);
  const Value power = number.is_number() ? number : c.method("to", {number, *base});
  c.give(c.function("torch.pow", {c.tensor(0), power}));
}

/// fmod takes the sign of the dividend, as C does; otherwise the sign is the divisor's.
void convert_mod(Conversion& c) {
  const bool fmod = c.attributes().flag("fmod", false);
  const char* const function = fmod ? "torch.fmod" : "torch.remainder";
  const bool is_half = c.dtype(0) == at::kHalf;
  const Value divisor = c.tensor_or_number(1);
  if (!is_half) return c.give(c.function(function, {c.tensor(0), divisor}));
  const Value wide = c.method("to", {c.tensor(0), at::kFloat});
  c.give(c.method("to", {c.function(function, {wide, divisor}), at::kHalf}));
}

Value all_of(Conversion& c, const char* function) {
  SPARSEBIT_CHECK(c.input_count() > 0, InvalidModel, c.type(), " needs an input");
  Value result = c.tensor(0);
  for (size_t i = 1; i < c.input_count(); ++i) result = c.function(function, {result, c.tensor(i)});
  return result;
}

/// Max with a number is a lower bound.
bool convert_bound(Conversion& c, const char* bound) {
  if (c.input_count() != 2) return false;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Value number = c.tensor_or_number(i);
    if (!number.is_number() || number.is_bool() || c.constant(1 - i)) continue;
    c.give(c.function("torch.clamp", {c.tensor(1 - i)}, {{bound, number}}));
    return true;
  }
  return false;
}

void convert_max(Conversion& c) {
  if (!convert_bound(c, "min")) c.give(all_of(c, "torch.maximum"));
}

void convert_min(Conversion& c) {
  if (!convert_bound(c, "max")) c.give(all_of(c, "torch.minimum"));
}

void convert_sum(Conversion& c) { c.give(all_of(c, "torch.add")); }

void convert_mean(Conversion& c) {
  const auto count = static_cast<double>(c.input_count());
  c.give(c.function("torch.div", {all_of(c, "torch.add"), count}));
}

}  // namespace

void add_arithmetic_converters(Converters& r) {
  r.add("Add", convert_add);
  r.add("Div", convert_div);
  r.add("Max", convert_max);
  r.add("Mean", convert_mean);
  r.add("Min", convert_min);
  r.add("Mod", convert_mod);
  r.add("Mul", convert_mul);
  r.add("Pow", convert_pow);
  r.add("Sub", convert_sub);
  r.add("Sum", convert_sum);
}

}  // namespace sparsebit::frontends
