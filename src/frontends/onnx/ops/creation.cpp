#include "frontends/onnx/ops/families.h"
#include "frontends/onnx/ops/growth.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace sparsebit::frontends {
namespace {

using fx::Value;
using Ints = std::vector<int64_t>;

/// A call that creates a tensor of these sizes.
Value create(Conversion& c, const std::vector<Value>& sizes, const char* function,
             std::vector<Value> args, fx::Kwargs kwargs) {
  Ints known;
  for (const Value& size : sizes) known.push_back(size.is_int() ? size.to_int() : -1);
  return function_of_size(c, function, std::move(args), std::move(kwargs), known);
}

void convert_constant(Conversion& c) {
  const Attributes& a = c.attributes();
  if (const auto value = a.tensor("value")) return c.give(Value(*value));
  if (a.has("value_int"))
    return c.give(Value(at::scalar_tensor(a.integer("value_int"), at::kLong)));
  if (a.has("value_float")) {
    return c.give(Value(at::scalar_tensor(a.number("value_float"), at::kFloat)));
  }
  if (const auto ints = a.ints("value_ints")) return c.give(Value(at::tensor(*ints, at::kLong)));
  if (const auto numbers = a.numbers("value_floats")) {
    return c.give(Value(at::tensor(*numbers, at::kFloat)));
  }
  const bool known = a.has("sparse_value") || a.has("value_string") || a.has("value_strings");
  SPARSEBIT_CHECK(known, InvalidModel, "a Constant without value");
  c.refuse("strings and sparse tensors are not supported");
}

/// The fill value and type of ConstantOfShape.
std::pair<Value, at::ScalarType> filling(const Conversion& c) {
  const auto value = c.attributes().tensor("value");
  if (!value) return {0.0, at::kFloat};
  SPARSEBIT_CHECK(value->numel() == 1, InvalidModel, "value has ", value->numel(),
                  " elements, expected 1");
  const at::ScalarType dtype = value->scalar_type();
  if (dtype == at::kBool) return {value->item<bool>(), dtype};
  if (at::isIntegralType(dtype, /*includeBool=*/false)) return {value->item<int64_t>(), dtype};
  if (!at::isFloatingType(dtype)) c.refuse("complex numbers are not supported");
  return {value->item<double>(), dtype};
}

void convert_constant_of_shape(Conversion& c) {
  const auto sizes = c.int_list(0);
  const auto [number, dtype] = filling(c);
  if (!sizes) {
    const Value value(at::full({1}, number.to_scalar(), dtype));
    return c.give(c.node("onnx.ConstantOfShape", {c.tensor(0), value}));
  }
  for (const Value& size : sizes->items) {
    SPARSEBIT_CHECK(!size.is_int() || size.to_int() >= 0, InvalidModel, "shape contains ",
                    size.to_int());
  }
  c.give(create(c, sizes->items, "torch.full", {*sizes, number}, {{"dtype", dtype}}));
}

/// An input of Range as a number or as a node that gives one; None when it is a computed tensor.
Value range_bound(Conversion& c, size_t i) {
  if (c.operand(i).kind == Operand::Kind::Int) return c.operand(i).value;
  const auto number = c.constant_number(i);
  if (!number) return {};
  const bool integer = at::isIntegralType(c.constant(i)->scalar_type(), /*includeBool=*/true);
  return integer ? Value(c.constant(i)->item<int64_t>()) : Value(*number);
}

void convert_range(Conversion& c) {
  const Value start = range_bound(c, 0), limit = range_bound(c, 1), delta = range_bound(c, 2);
  const auto dtype = c.dtype(2);  // all three inputs have the same
  const bool torch_can = !start.is_none() && !limit.is_none() && delta.is_number() && dtype;
  if (!torch_can) return c.give(c.node("onnx.Range", {c.tensor(0), c.tensor(1), c.tensor(2)}));
  const double step = delta.to_double();
  SPARSEBIT_CHECK(step != 0.0 && std::isfinite(step), InvalidModel, "delta is ", step);
  const fx::Kwargs kwargs = {{"dtype", *dtype}};
  const std::vector<Value> args = {start, limit, delta};
  if (!start.is_number() || !limit.is_number()) return c.give(c.node("torch.arange", args, kwargs));
  const double count = std::ceil((limit.to_double() - start.to_double()) / step);
  if (count <= 0.0) return c.give(Value(at::empty({0}, *dtype)));
  SPARSEBIT_CHECK(count < 1e15, InvalidModel, "a range of ", count, " numbers");
  c.give(create(c, {static_cast<int64_t>(count)}, "torch.arange", args, kwargs));
}

/// Ones on one diagonal of a matrix.
void convert_eye_like(Conversion& c) {
  constexpr int64_t kFar = int64_t{1} << 31;  // outside of any matrix
  const int64_t k = std::clamp(c.attributes().integer("k", 0), -kFar, kFar);
  const auto dtype = c.attributes().dtype("dtype") ? c.attributes().dtype("dtype") : c.dtype(0);
  if (!dtype) c.refuse("the type of its input is not known");
  SPARSEBIT_CHECK(c.rank(0).value_or(2) == 2, InvalidModel, "its input has ", *c.rank(0),
                  " axes, expected 2");
  const std::vector<Value> sizes = {c.size(0, 0), c.size(0, 1)};
  const fx::Kwargs kwargs = {{"dtype", *dtype}};
  if (k == 0) return c.give(create(c, sizes, "torch.eye", {sizes[0], sizes[1]}, kwargs));
  const Value ones = create(c, sizes, "torch.ones", {fx::List(sizes)}, kwargs);
  c.give(c.function("torch.tril", {c.function("torch.triu", {ones, k}), k}));
}

}  // namespace

void add_creation_converters(Converters& r) {
  r.add("Constant", convert_constant);
  r.add("ConstantOfShape", convert_constant_of_shape);
  r.add("EyeLike", convert_eye_like);
  r.add("Range", convert_range);
}

}  // namespace sparsebit::frontends
