#include "frontends/onnx/ops/arithmetic.h"
#include "frontends/onnx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <limits>
#include <map>

namespace sparsebit::frontends {
namespace {

using fx::Value;

const std::map<std::string, const char*>& unary_functions() {
  static const std::map<std::string, const char*> functions = {{"Abs", "torch.abs"},
                                                               {"Acos", "torch.acos"},
                                                               {"Acosh", "torch.acosh"},
                                                               {"Asin", "torch.asin"},
                                                               {"Asinh", "torch.asinh"},
                                                               {"Atan", "torch.atan"},
                                                               {"Atanh", "torch.atanh"},
                                                               {"BitwiseNot", "torch.bitwise_not"},
                                                               {"Ceil", "torch.ceil"},
                                                               {"Cos", "torch.cos"},
                                                               {"Cosh", "torch.cosh"},
                                                               {"Det", "torch.det"},
                                                               {"Erf", "torch.erf"},
                                                               {"Exp", "torch.exp"},
                                                               {"Floor", "torch.floor"},
                                                               {"IsNaN", "torch.isnan"},
                                                               {"Log", "torch.log"},
                                                               {"Neg", "torch.neg"},
                                                               {"Reciprocal", "torch.reciprocal"},
                                                               {"Round", "torch.round"},
                                                               {"Sign", "torch.sign"},
                                                               {"Sin", "torch.sin"},
                                                               {"Sinh", "torch.sinh"},
                                                               {"Sqrt", "torch.sqrt"},
                                                               {"Tan", "torch.tan"}};
  return functions;
}

void convert_unary(Conversion& c) {
  c.give(c.function(unary_functions().at(c.type()), {c.tensor(0)}));
}

/// Detects one or both of the infinities.
void convert_is_inf(Conversion& c) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool negative = c.attributes().flag("detect_negative", true);
  const bool positive = c.attributes().flag("detect_positive", true);
  const Value x = c.tensor(0);
  if (negative && positive) return c.give(c.function("torch.isinf", {x}));
  if (!negative && !positive) {
    return c.give(c.function("torch.zeros_like", {x}, {{"dtype", at::kBool}}));
  }
  c.give(c.function("torch.eq", {x, positive ? kInfinity : -kInfinity}));
}

void convert_bit_shift(Conversion& c) {
  const std::string direction = c.attributes().text("direction", "");
  SPARSEBIT_CHECK(direction == "LEFT" || direction == "RIGHT", InvalidModel, "direction is '",
                  direction, "', expected LEFT or RIGHT");
  c.give(direction == "LEFT" ? call_binary(c, "torch.bitwise_left_shift", "operator.lshift")
                             : call_binary(c, "torch.bitwise_right_shift", "operator.rshift"));
}

void convert_bitwise(Conversion& c) {
  static const std::map<std::string, std::pair<const char*, const char*>> functions = {
      {"BitwiseAnd", {"torch.bitwise_and", "operator.and_"}},
      {"BitwiseOr", {"torch.bitwise_or", "operator.or_"}},
      {"BitwiseXor", {"torch.bitwise_xor", "operator.xor"}}};
  const auto& [function, python] = functions.at(c.type());
  c.give(call_binary(c, function, python));
}

/// torch has neither an exclusive sum nor a computed axis.
void convert_cumsum(Conversion& c) {
  const bool exclusive = c.attributes().flag("exclusive", false);
  const bool reverse = c.attributes().flag("reverse", false);
  const auto axis = c.constant_number(1);
  const auto dtype = c.dtype(0);
  if (!axis || !dtype || exclusive) {
    return c.give(c.function("onnx.CumSum", {c.tensor(0), c.tensor(1)},
                             {{"exclusive", int64_t{exclusive}}, {"reverse", int64_t{reverse}}}));
  }
  const auto dim = static_cast<int64_t>(*axis);
  const auto reversed = [&](const Value& x) {
    return reverse ? c.function("torch.flip", {x, std::vector<int64_t>{dim}}) : x;
  };
  fx::Kwargs kwargs;
  if (at::isIntegralType(*dtype, /*includeBool=*/true)) kwargs.emplace_back("dtype", *dtype);
  c.give(reversed(c.function("torch.cumsum", {reversed(c.tensor(0)), dim}, kwargs)));
}

void convert_einsum(Conversion& c) {
  std::vector<Value> args = {c.attributes().text("equation", "")};
  for (const Value& operand : c.tensors()) args.push_back(operand);
  c.give(c.function("torch.einsum", args));
}

}  // namespace

void add_math_converters(Converters& r) {
  for (const auto& [type, function] : unary_functions()) r.add(type, convert_unary);
  for (const char* type : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) r.add(type, convert_bitwise);
  r.add("BitShift", convert_bit_shift);
  r.add("CumSum", convert_cumsum);
  r.add("Einsum", convert_einsum);
  r.add("IsInf", convert_is_inf);
}

}  // namespace sparsebit::frontends
