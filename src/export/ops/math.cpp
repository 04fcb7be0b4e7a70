#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

namespace sparsebit::exports {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Converter from a formula on a floating tensor.
template <class Formula>
Converter formula(Formula f) {
  return [f](Call& c) -> NodeResult { return f(c.w, float_input(c)); };
}

/// Converter of a rounding operator, which leaves integers unchanged.
Converter rounding(const std::string& type) {
  return [type](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    return at::isFloatingType(x.dtype) ? NodeResult(c.w.unary(type, x)) : c.val("input");
  };
}

/// exp(x) - 1 would lose all digits near 0.
OnnxTensor expm1(GraphWriter& w, const OnnxTensor& x) {
  // tanh(x/2) * (exp(x) + 1)
  return w.mul(w.unary("Tanh", w.mul(x, 0.5)), w.add(w.unary("Exp", x), 1.0));
}

/// log(u) * x / (u - 1) with the rounded u = 1 + x, so that the rounding error cancels.
OnnxTensor log1p(GraphWriter& w, const OnnxTensor& x) {
  const OnnxTensor u = w.add(x, 1.0), shift = w.sub(u, 1.0);
  const OnnxTensor exact = w.compare("Equal", shift, 0.0);
  const OnnxTensor safe = w.where(exact, w.scalar_like(1, x), shift);
  const OnnxTensor corrected = w.div(w.mul(w.unary("Log", u), x), safe);
  const OnnxTensor infinite = w.compare("Equal", x, kInfinity);
  return w.where(infinite, x, w.where(exact, x, corrected));
}

OnnxTensor atan2(GraphWriter& w, const OnnxTensor& y, const OnnxTensor& x) {
  const OnnxTensor zero = w.scalar_like(0, x);
  const OnnxTensor left = w.compare("Less", x, zero), down = w.compare("Less", y, zero);
  const OnnxTensor on_axis = w.compare("Equal", x, zero);
  const OnnxTensor safe = w.where(on_axis, w.scalar_like(1, x), x);
  const OnnxTensor angle = w.unary("Atan", w.div(y, safe));
  const OnnxTensor turn = w.where(down, w.scalar_like(-M_PI, x), w.scalar_like(M_PI, x));
  const OnnxTensor turned = w.where(left, w.add(angle, turn), angle);
  const OnnxTensor vertical = w.mul(w.unary("Sign", y), M_PI / 2);
  return w.where(on_axis, vertical, turned);
}

OnnxTensor is_infinite(GraphWriter& w, const OnnxTensor& x) {
  return w.compare("Equal", w.unary("Abs", x), kInfinity);
}

OnnxTensor is_nan(GraphWriter& w, const OnnxTensor& x) {
  return w.op("IsNaN", {x}, {}, at::kBool, x.shape);
}

/// Integers are always finite.
template <class Test>
Converter float_test(bool for_integers, Test test) {
  return [=](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    if (at::isFloatingType(x.dtype)) return test(c.w, x);
    return c.w.cast(c.w.filled(c.w.shape_of(x), for_integers, at::kBool), at::kBool);
  };
}

NodeResult nan_to_num(Call& c) {
  const OnnxTensor x = c.tensor("input");
  if (!at::isFloatingType(x.dtype)) return c.val("input");
  GraphWriter& w = c.w;
  const double largest = x.dtype == at::kDouble ? std::numeric_limits<double>::max()
                         : x.dtype == at::kHalf ? 65504.0
                                                : std::numeric_limits<float>::max();
  const auto given = [&](const char* name, double missing) {
    return c.is_none(name) ? w.scalar_like(missing, x) : c.scalar(c.val(name), x.dtype);
  };
  OnnxTensor y = w.where(is_nan(w, x), given("nan", 0.0), x);
  y = w.where(w.compare("Equal", x, kInfinity), given("posinf", largest), y);
  return w.where(w.compare("Equal", x, -kInfinity), given("neginf", -largest), y);
}

NodeResult round_decimals(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t decimals = c.integer("decimals");
  if (!at::isFloatingType(x.dtype)) return c.val("input");
  if (decimals == 0) return c.w.unary("Round", x);
  const double unit = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  if (decimals > 0) return c.w.div(c.w.unary("Round", c.w.mul(x, unit)), unit);
  return c.w.mul(c.w.unary("Round", c.w.div(x, unit)), unit);
}

/// Converter of Abs, Sign and other operators that support integers, too.
Converter any_type(const std::string& type) {
  return [type](Call& c) -> NodeResult {
    const NodeResult a = c.val("input");
    const OnnxTensor x = c.sym(a), wide = c.w.cast(x, computable(x.dtype));
    return as_operands(c.w.cast(c.w.unary(type, wide), x.dtype), a, a);
  };
}

/// torch promotes tensors as bounds, but not numbers: those are cut to the tensor's type.
NodeResult clamp(Call& c) {
  GraphWriter& w = c.w;
  const NodeResult x = c.val("input"), low = c.val("min"), high = c.val("max");
  at::ScalarType dtype = dtype_of(x);
  for (const NodeResult* bound : {&low, &high}) {
    if (!bound->is_none()) dtype = result_type(OnnxTensor{"", dtype, c.sym(x).shape}, *bound);
  }
  const OnnxTensor y = c.operand(x, dtype);
  const OnnxTensor a = low.is_none() ? OnnxTensor{} : c.operand(low, dtype);
  const OnnxTensor b = high.is_none() ? OnnxTensor{} : c.operand(high, dtype);
  const auto scalar = [](const OnnxTensor& s) {
    return !s.present() || (s.shape && s.shape->empty());
  };
  if (scalar(a) && scalar(b)) return w.clip(y, a, b);
  const at::ScalarType work = computable(dtype);
  OnnxTensor wide = w.cast(y, work);
  if (a.present()) wide = w.maximum(wide, w.cast(a, work));
  if (b.present()) wide = w.minimum(wide, w.cast(b, work));
  return w.cast(wide, dtype);
}

NodeResult elementwise_extremum(Call& c, bool largest) {
  const NodeResult a = c.val("input"), b = c.val("other");
  const at::ScalarType dtype = combined_type(a, b), work = computable(dtype);
  const OnnxTensor x = c.operand(a, work), y = c.operand(b, work);
  return c.w.cast(largest ? c.w.maximum(x, y) : c.w.minimum(x, y), dtype);
}

OnnxTensor running_input(Call& c) {
  const OnnxTensor x = c.tensor("input");
  if (const auto dtype = c.args().optional_dtype("dtype")) return c.w.cast(x, *dtype);
  return at::isFloatingType(x.dtype) ? x : c.w.cast(x, at::kLong);
}

/// ONNX has no running product: the product of all elements up to each position, with 1 elsewhere.
NodeResult cumprod(Call& c) {
  const OnnxTensor x = running_input(c);
  GraphWriter& w = c.w;
  if (x.rank() == 0) return x;
  const int64_t dim = x.axis(c.integer("dim")), size = x.size(dim);
  if (size < 0) c.unsupported("a running product needs a dimension of fixed size");
  const OnnxTensor last = w.swap(x, dim, -1);
  const OnnxTensor lower = w.constant(at::ones({size, size}, at::kBool).tril());
  const OnnxTensor factors = w.where(lower, w.unsqueeze(last, {-2}), w.scalar_like(1, x));
  return w.swap(w.reduce("ReduceProd", factors, {-1}, false), dim, -1);
}

void add_exponentials(Converters& table) {
  table.add("exp", float_unary("Exp"));
  table.add("exp2", formula([](GraphWriter& w, const OnnxTensor& x) {
              return w.pow(w.scalar_like(2.0, x), x);
            }));
  table.add("expm1", formula(expm1));
  table.add("log", float_unary("Log"));
  table.add("log2", formula([](GraphWriter& w, const OnnxTensor& x) {
              return w.mul(w.unary("Log", x), 1.0 / std::log(2.0));
            }));
  table.add("log10", formula([](GraphWriter& w, const OnnxTensor& x) {
              return w.mul(w.unary("Log", x), 1.0 / std::log(10.0));
            }));
  table.add("log1p", formula(log1p));
  table.add("erf", float_unary("Erf"));
  table.add("erfc", formula([](GraphWriter& w, const OnnxTensor& x) {
              return w.sub(w.scalar_like(1.0, x), w.unary("Erf", x));
            }));
  table.add("sqrt", float_unary("Sqrt"));
  table.add("rsqrt", formula([](GraphWriter& w, const OnnxTensor& x) {
              return w.unary("Reciprocal", w.unary("Sqrt", x));
            }));
  table.add("reciprocal", float_unary("Reciprocal"));
  table.add("square", [](Call& c) { return combine(c, "Mul", c.val("input"), c.val("input")); });
}

void add_trigonometry(Converters& table) {
  for (const auto& [name, type] :
       std::initializer_list<std::pair<const char*, const char*>>{{"sin", "Sin"},
                                                                  {"cos", "Cos"},
                                                                  {"tan", "Tan"},
                                                                  {"asin", "Asin"},
                                                                  {"acos", "Acos"},
                                                                  {"atan", "Atan"},
                                                                  {"sinh", "Sinh"},
                                                                  {"cosh", "Cosh"},
                                                                  {"asinh", "Asinh"},
                                                                  {"acosh", "Acosh"},
                                                                  {"atanh", "Atanh"}}) {
    table.add(name, float_unary(type));
  }
  table.add("atan2", [](Call& c) -> NodeResult {
    at::ScalarType dtype = combined_type(c.val("input"), c.val("other"));
    if (!at::isFloatingType(dtype)) dtype = at::kFloat;
    return atan2(c.w, c.operand(c.val("input"), dtype), c.operand(c.val("other"), dtype));
  });
}

void add_rounding(Converters& table) {
  table.add("floor", rounding("Floor"));
  table.add("ceil", rounding("Ceil"));
  table.add("trunc", [](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    return at::isFloatingType(x.dtype) ? NodeResult(truncate(c.w, x)) : c.val("input");
  });
  table.add("frac",
            formula([](GraphWriter& w, const OnnxTensor& x) { return w.sub(x, truncate(w, x)); }));
  table.add("round", round_decimals);
  table.add("abs", any_type("Abs"));
  table.add("sign", any_type("Sign"));
}

}  // namespace

void add_math_converters(Converters& table) {
  add_exponentials(table);
  add_trigonometry(table);
  add_rounding(table);
  table.add("clamp", clamp);
  table.add("maximum", [](Call& c) { return elementwise_extremum(c, true); });
  table.add("minimum", [](Call& c) { return elementwise_extremum(c, false); });
  table.add("isnan", float_test(false, is_nan));
  table.add("isinf", float_test(false, is_infinite));
  table.add("isfinite", float_test(true, [](GraphWriter& w, const OnnxTensor& x) {
              return w.logical_not(w.logic("Or", is_nan(w, x), is_infinite(w, x)));
            }));
  table.add("nan_to_num", nan_to_num);
  table.add("cumsum", [](Call& c) -> NodeResult {
    const OnnxTensor x = running_input(c);
    return x.rank() == 0 ? x : c.w.cumsum(x, c.integer("dim"));
  });
  table.add("cumprod", cumprod);
}

}  // namespace sparsebit::exports
