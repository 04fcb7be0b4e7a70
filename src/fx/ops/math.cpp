#include "fx/ops/families.h"
#include "fx/ops/integer_division.h"
#include "fx/ops/operand.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

using Pure = Tensor (*)(const Tensor&);
using Inplace = Tensor& (*)(Tensor&);

/// torch.exp, Tensor.exp, torch.exp_ and Tensor.exp_; the same under a second name if there is one.
void add_elementwise(OperatorTable& table, const std::string& name, Pure pure, Inplace inplace,
                     const std::string& alias = "") {
  const bool one_name = alias.empty();
  table.add({.name = name,
             .schema = "input, *, inplace=False",
             .forms = one_name ? function_and_method({name}) : function_and_method({name, alias}),
             .inplace = one_name ? function_and_method({name + "_"})
                                 : function_and_method({name + "_", alias + "_"}),
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = unary(pure, inplace)});
}

void add_test(OperatorTable& table, const std::string& name, Pure pure) {
  table.add({.name = name,
             .schema = "input",
             .forms = function_and_method({name}),
             .kernel = [=](const Args& a) -> Value { return pure(a.tensor("input")); }});
}

void add_exponentials(OperatorTable& table) {
  add_elementwise(table, "exp", at::exp, at::exp_);
  add_elementwise(table, "exp2", at::exp2, at::exp2_);
  add_elementwise(table, "expm1", at::expm1, at::expm1_);
  add_elementwise(table, "log", at::log, at::log_);
  add_elementwise(table, "log2", at::log2, at::log2_);
  add_elementwise(table, "log10", at::log10, at::log10_);
  add_elementwise(table, "log1p", at::log1p, at::log1p_);
  add_elementwise(table, "erf", at::erf, at::erf_);
  add_elementwise(table, "erfc", at::erfc, at::erfc_);
}

void add_powers(OperatorTable& table) {
  add_elementwise(table, "sqrt", at::sqrt, at::sqrt_);
  add_elementwise(table, "rsqrt", at::rsqrt, at::rsqrt_);
  add_elementwise(table, "square", at::square, at::square_);
  add_elementwise(table, "reciprocal", at::reciprocal, at::reciprocal_);
}

void add_trigonometry(OperatorTable& table) {
  add_elementwise(table, "sin", at::sin, at::sin_);
  add_elementwise(table, "cos", at::cos, at::cos_);
  add_elementwise(table, "tan", at::tan, at::tan_);
  add_elementwise(table, "asin", at::asin, at::asin_, "arcsin");
  add_elementwise(table, "acos", at::acos, at::acos_, "arccos");
  add_elementwise(table, "atan", at::atan, at::atan_, "arctan");
  add_elementwise(table, "sinh", at::sinh, at::sinh_);
  add_elementwise(table, "cosh", at::cosh, at::cosh_);
  add_elementwise(table, "asinh", at::asinh, at::asinh_, "arcsinh");
  add_elementwise(table, "acosh", at::acosh, at::acosh_, "arccosh");
  add_elementwise(table, "atanh", at::atanh, at::atanh_, "arctanh");
  table.add({.name = "atan2",
             .schema = "input, other, *, inplace=False",
             .forms = function_and_method({"atan2", "arctan2"}),
             .inplace = {"Tensor.atan2_", "Tensor.arctan2_"},
             .kernel = elementwise(at::atan2, &Tensor::atan2_)});
}

Value round_decimals(const Args& a) {
  Tensor x = a.tensor("input");
  const int64_t decimals = a.integer("decimals");
  return a.flag("inplace") ? at::round_(x, decimals) : at::round(x, decimals);
}

Value absolute(const Args& a) {
  if (!a["input"].is_tensor()) return python::absolute(a["input"]);
  Tensor x = a.tensor("input");
  return a.flag("inplace") ? at::abs_(x) : at::abs(x);
}

void add_rounding(OperatorTable& table) {
  add_elementwise(table, "floor", at::floor, at::floor_);
  add_elementwise(table, "ceil", at::ceil, at::ceil_);
  add_elementwise(table, "trunc", at::trunc, at::trunc_, "fix");
  add_elementwise(table, "frac", at::frac, at::frac_);
  table.add({.name = "round",
             .schema = "input, *, decimals=0, inplace=False",
             .forms = function_and_method({"round"}),
             .inplace = function_and_method({"round_"}),
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = round_decimals});
  table.add({.name = "abs",
             .schema = "input, *, inplace=False",
             .forms = {"torch.abs", "torch.absolute", "operator.abs", "abs", "Tensor.abs",
                       "Tensor.absolute"},
             .inplace = {"torch.abs_", "Tensor.abs_", "Tensor.absolute_"},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = absolute});
  table.add({.name = "sign",
             .schema = "input, *, inplace=False",
             .forms = function_and_method({"sign"}),
             .inplace = {"Tensor.sign_"},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .kernel = unary([](const Tensor& x) { return at::sign(x); },
                             [](Tensor& x) { return x.sign_(); })});
}

/// A bound of clamp as a tensor, so that a number and a tensor can be mixed.
c10::optional<Tensor> tensor_bound(const Value& bound) {
  if (bound.is_none()) return c10::nullopt;
  return operand(bound);
}

Value clamp(const Args& a) {
  Tensor x = a.tensor("input");
  const bool inplace = a.flag("inplace");
  if (a["min"].is_tensor() || a["max"].is_tensor()) {
    const auto low = tensor_bound(a["min"]), high = tensor_bound(a["max"]);
    return inplace ? at::clamp_(x, low, high) : at::clamp(x, low, high);
  }
  const auto low = a.optional_scalar("min"), high = a.optional_scalar("max");
  return inplace ? at::clamp_(x, low, high) : at::clamp(x, low, high);
}

void add_limits(OperatorTable& table) {
  table.add({.name = "clamp",
             .schema = "input, min=None, max=None, *, inplace=False",
             .forms = {"torch.clamp",
                       "torch.clip",
                       "Tensor.clamp",
                       "Tensor.clip",
                       {"torch.clamp_min", "input, min"},
                       {"torch.clamp_max", "input, max"},
                       {"Tensor.clamp_min", "input, min"},
                       {"Tensor.clamp_max", "input, max"}},
             .inplace = {"torch.clamp_",
                         "torch.clip_",
                         "Tensor.clamp_",
                         "Tensor.clip_",
                         {"torch.clamp_min_", "input, min"},
                         {"torch.clamp_max_", "input, max"},
                         {"Tensor.clamp_min_", "input, min"},
                         {"Tensor.clamp_max_", "input, max"}},
             .elements = Elements::OfOperands,
             .kernel = clamp});
  table.add({.name = "maximum",
             .schema = "input, other",
             .forms = function_and_method({"maximum"}),
             .kernel = elementwise(at::maximum)});
  table.add({.name = "minimum",
             .schema = "input, other",
             .forms = function_and_method({"minimum"}),
             .kernel = elementwise(at::minimum)});
  table.add({.name = "fmod",
             .schema = "input, other, *, inplace=False",
             .forms = function_and_method({"fmod"}),
             .inplace = {"Tensor.fmod_"},
             .kernel = division(trunc_remainder, &Tensor::fmod_)});
}

Value nan_to_num(const Args& a) {
  Tensor x = a.tensor("input");
  const auto nan = a.optional_number("nan");
  const auto high = a.optional_number("posinf"), low = a.optional_number("neginf");
  return a.flag("inplace") ? at::nan_to_num_(x, nan, high, low) : at::nan_to_num(x, nan, high, low);
}

void add_finiteness(OperatorTable& table) {
  add_test(table, "isnan", at::isnan);
  add_test(table, "isinf", at::isinf);
  add_test(table, "isfinite", at::isfinite);
  table.add({.name = "nan_to_num",
             .schema = "input, nan=None, posinf=None, neginf=None, *, inplace=False",
             .forms = function_and_method({"nan_to_num"}),
             .inplace = function_and_method({"nan_to_num_"}),
             .kernel = nan_to_num});
}

/// Kernel of a cumulative sum or product, from ATen's pure and in-place functions.
Kernel running(Tensor (*pure)(const Tensor&, int64_t, c10::optional<at::ScalarType>),
               Tensor& (Tensor::*inplace)(int64_t, c10::optional<at::ScalarType>) const) {
  return [=](const Args& a) -> Value {
    const Tensor x = a.tensor("input");
    const int64_t dim = a.integer("dim");
    const auto dtype = a.optional_dtype("dtype");
    return a.flag("inplace") ? (x.*inplace)(dim, dtype) : pure(x, dim, dtype);
  };
}

void add_running_totals(OperatorTable& table) {
  table.add({.name = "cumsum",
             .schema = "input, dim|axis, *, dtype=None, inplace=False",
             .forms = function_and_method({"cumsum"}),
             .inplace = {"Tensor.cumsum_"},
             .kernel = running(at::cumsum, &Tensor::cumsum_)});
  table.add({.name = "cumprod",
             .schema = "input, dim|axis, *, dtype=None, inplace=False",
             .forms = function_and_method({"cumprod"}),
             .inplace = {"Tensor.cumprod_"},
             .kernel = running(at::cumprod, &Tensor::cumprod_)});
}

}  // namespace

void add_math_operators(OperatorTable& table) {
  add_exponentials(table);
  add_powers(table);
  add_trigonometry(table);
  add_rounding(table);
  add_limits(table);
  add_finiteness(table);
  add_running_totals(table);
}

}  // namespace sparsebit::fx
