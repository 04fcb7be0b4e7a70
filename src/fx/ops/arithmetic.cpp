#include "fx/ops/families.h"
#include "fx/ops/integer_division.h"
#include "fx/ops/operand.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

c10::optional<c10::string_view> rounding_mode(const Args& a) {
  if (a.is_none("rounding_mode")) return c10::nullopt;
  return c10::string_view(a["rounding_mode"].string());
}

Value divide(const Args& a) {
  const Value &x = a["input"], &y = a["other"];
  const bool plain = !x.is_tensor() && !y.is_tensor() && a.is_none("rounding_mode");
  if (plain) return python::true_divide(x, y);
  const auto rounding = rounding_mode(a);
  if (a.flag("inplace") && x.is_tensor()) {
    Tensor in = x.tensor();
    const Tensor by = operand(y);
    const bool traps = rounding && division_may_trap(in, by);
    return traps ? in.copy_(rounded_quotient(in, by, *rounding)) : in.div_(by, rounding);
  }
  if (!x.is_tensor() && !rounding) {
    return at::reciprocal(y.tensor()) * operand(x);  // bit for bit what `2 / x` is in torch
  }
  if (rounding) return rounded_quotient(operand(x), operand(y), *rounding);
  return at::div(operand(x), operand(y));
}

// torch computes small constant exponents (2, 3, 0.5, -1, ...) without pow(), hence no operand().
Value power(const Args& a) {
  const Value &x = a["input"], &y = a["exponent"];
  if (!x.is_tensor() && !y.is_tensor()) return python::power(x, y);
  if (!x.is_tensor()) return at::pow(x.to_scalar(), y.tensor());
  Tensor base = x.tensor();
  const bool inplace = a.flag("inplace");
  if (y.is_tensor()) return inplace ? base.pow_(y.tensor()) : at::pow(base, y.tensor());
  const at::Scalar exponent = a.scalar("exponent");
  return inplace ? base.pow_(exponent) : at::pow(base, exponent);
}

Value negate(const Args& a) {
  if (!a["input"].is_tensor()) return python::negative(a["input"]);
  Tensor x = a.tensor("input");
  return a.flag("inplace") ? at::neg_(x) : at::neg(x);
}

Value lerp(const Args& a) {
  Tensor x = a.tensor("input");
  const Tensor end = a.tensor("end");
  const bool inplace = a.flag("inplace");
  if (a["weight"].is_tensor()) {
    const Tensor weight = a.tensor("weight");
    return inplace ? x.lerp_(end, weight) : at::lerp(x, end, weight);
  }
  const at::Scalar weight = a.scalar("weight");
  return inplace ? x.lerp_(end, weight) : at::lerp(x, end, weight);
}

template <class Pure, class Inplace>
Kernel with_two_tensors(Pure pure, Inplace inplace) {
  return [=](const Args& a) -> Value {
    Tensor x = a.tensor("input");
    const Tensor first = a.tensor("tensor1"), second = a.tensor("tensor2");
    const at::Scalar value = a.scalar("value");
    return a.flag("inplace") ? inplace(x, first, second, value) : pure(x, first, second, value);
  };
}

using Scaled = Tensor (*)(const Tensor&, const Tensor&, const at::Scalar&);
using ScaledInplace = Tensor& (Tensor::*)(const Tensor&, const at::Scalar&) const;

/// For functions that scale their second operand by `alpha` first.
Kernel scaled(Scaled pure, ScaledInplace inplace, PlainBinary plain) {
  return binary(
      [=](const Tensor& x, const Tensor& y, const Args& a) {
        return pure(x, y, a.scalar("alpha"));
      },
      [=](Tensor& x, const Tensor& y, const Args& a) { return (x.*inplace)(y, a.scalar("alpha")); },
      plain);
}

void add_sums(OperatorTable& table) {
  table.add({.name = "add",
             .schema = "input, other, *, alpha=1, inplace=False",
             .forms = {"torch.add", "operator.add", "operator.concat", "Tensor.add"},
             .inplace = {"operator.iadd", "Tensor.add_"},
             .elements = Elements::OfOperands,
             .kernel = scaled(at::add, &Tensor::add_, python::add)});
  table.add(
      {.name = "sub",
       .schema = "input, other, *, alpha=1, inplace=False",
       .forms = {"torch.sub", "torch.subtract", "operator.sub", "Tensor.sub", "Tensor.subtract"},
       .inplace = {"operator.isub", "Tensor.sub_", "Tensor.subtract_"},
       .elements = Elements::OfOperands,
       .kernel = scaled(at::sub, &Tensor::sub_, python::sub)});
  table.add({.name = "rsub",
             .schema = "input, other, *, alpha=1",
             .forms = {"torch.rsub"},
             .kernel = binary([](const Tensor& x, const Tensor& y, const Args& a) {
               return at::rsub(x, y, a.scalar("alpha"));
             })});
  table.add(
      {.name = "neg",
       .schema = "input, inplace=False",
       .forms = {"torch.neg", "torch.negative", "operator.neg", "Tensor.neg", "Tensor.negative"},
       .inplace = {"torch.neg_", "torch.negative_", "Tensor.neg_", "Tensor.negative_"},
       .keeps_rank = true,
       .elements = Elements::OfOperands,
       .kernel = negate});
  table.add({.name = "pos",
             .schema = "input",
             .forms = {"torch.positive", "operator.pos", "Tensor.positive"},
             .view = true,
             .kernel = [](const Args& a) { return a["input"]; }});
}

Tensor floor_quotient(const Tensor& x, const Tensor& y) { return rounded_quotient(x, y, "floor"); }

void add_products(OperatorTable& table) {
  table.add(
      {.name = "mul",
       .schema = "input, other, *, inplace=False",
       .forms = {"torch.mul", "torch.multiply", "operator.mul", "Tensor.mul", "Tensor.multiply"},
       .inplace = {"operator.imul", "Tensor.mul_", "Tensor.multiply_"},
       .elements = Elements::OfOperands,
       .kernel = elementwise(at::mul, &Tensor::mul_, python::mul)});
  table.add(
      {.name = "div",
       .schema = "input, other, *, rounding_mode=None, inplace=False",
       .forms = {"torch.div", "torch.divide", "torch.true_divide", "operator.truediv", "Tensor.div",
                 "Tensor.divide", "Tensor.true_divide"},
       .inplace = {"operator.itruediv", "Tensor.div_", "Tensor.divide_", "Tensor.true_divide_"},
       .elements = Elements::OfOperands,
       .kernel = divide});
  table.add({.name = "floor_divide",
             .schema = "input, other, *, inplace=False",
             .forms = {"torch.floor_divide", "operator.floordiv", "Tensor.floor_divide"},
             .inplace = {"operator.ifloordiv", "Tensor.floor_divide_"},
             .kernel = division(floor_quotient, &Tensor::floor_divide_, python::floor_divide)});
  table.add({.name = "remainder",
             .schema = "input, other, *, inplace=False",
             .forms = {"torch.remainder", "operator.mod", "Tensor.remainder"},
             .inplace = {"operator.imod", "Tensor.remainder_"},
             .kernel = division(floor_remainder, &Tensor::remainder_, python::modulo)});
  table.add({.name = "pow",
             .schema = "input, exponent, *, inplace=False",
             .forms = {"torch.pow", "operator.pow", "Tensor.pow"},
             .inplace = {"operator.ipow", "Tensor.pow_"},
             .elements = Elements::OfOperands,
             .kernel = power});
}

void add_combinations(OperatorTable& table) {
  table.add({.name = "addcmul",
             .schema = "input, tensor1, tensor2, *, value=1, inplace=False",
             .forms = {"torch.addcmul", "Tensor.addcmul"},
             .inplace = {"Tensor.addcmul_"},
             .kernel = with_two_tensors(
                 [](const auto& x, const auto&... rest) { return at::addcmul(x, rest...); },
                 [](Tensor& x, const auto&... rest) { return x.addcmul_(rest...); })});
  table.add({.name = "addcdiv",
             .schema = "input, tensor1, tensor2, *, value=1, inplace=False",
             .forms = {"torch.addcdiv", "Tensor.addcdiv"},
             .inplace = {"Tensor.addcdiv_"},
             .kernel = with_two_tensors(
                 [](const auto& x, const auto&... rest) { return at::addcdiv(x, rest...); },
                 [](Tensor& x, const auto&... rest) { return x.addcdiv_(rest...); })});
  table.add({.name = "lerp",
             .schema = "input, end, weight, *, inplace=False",
             .forms = {"torch.lerp", "Tensor.lerp"},
             .inplace = {"Tensor.lerp_"},
             .kernel = lerp});
}

}  // namespace

void add_arithmetic_operators(OperatorTable& table) {
  add_sums(table);
  add_products(table);
  add_combinations(table);
}

}  // namespace sparsebit::fx
