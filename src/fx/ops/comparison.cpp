#include "fx/ops/families.h"
#include "fx/ops/operand.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

bool tensor_or_number(const Value& value) { return value.is_tensor() || value.is_number(); }

/// `==` and `!=` of a tensor and, say, None or a string are plain bools, as in Python.
Kernel equality(TensorBinary on_tensors, bool negated) {
  return [=](const Args& a) -> Value {
    const Value &x = a["input"], &y = a["other"];
    const bool elementwise =
        (x.is_tensor() && tensor_or_number(y)) || (y.is_tensor() && tensor_or_number(x));
    if (elementwise) return on_tensors(operand(x), operand(y));
    return python::equal(x, y) != negated;
  };
}

Value where(const Args& a) {
  const Tensor condition = a.tensor("condition");
  const Value &x = a["input"], &y = a["other"];
  if (x.is_none() && y.is_none()) return tuple_of(at::where(condition));
  if (x.is_tensor() && y.is_tensor()) return at::where(condition, x.tensor(), y.tensor());
  if (x.is_tensor()) return at::where(condition, x.tensor(), a.scalar("other"));
  if (y.is_tensor()) return at::where(condition, a.scalar("input"), y.tensor());
  return at::where(condition, a.scalar("input"), a.scalar("other"));
}

void add_equalities(OperatorTable& table) {
  table.add({.name = "eq",
             .schema = "input, other",
             .forms = {"torch.eq", "operator.eq", "Tensor.eq"},
             .kernel = equality(at::eq, /*negated=*/false)});
  table.add(
      {.name = "ne",
       .schema = "input, other",
       .forms = {"torch.ne", "torch.not_equal", "operator.ne", "Tensor.ne", "Tensor.not_equal"},
       .kernel = equality(at::ne, /*negated=*/true)});
}

void add_orders(OperatorTable& table) {
  table.add({.name = "lt",
             .schema = "input, other",
             .forms = {"torch.lt", "torch.less", "operator.lt", "Tensor.lt", "Tensor.less"},
             .kernel = elementwise(at::lt, [](const Value& x, const Value& y) -> Value {
               return python::less(x, y);
             })});
  table.add(
      {.name = "le",
       .schema = "input, other",
       .forms = {"torch.le", "torch.less_equal", "operator.le", "Tensor.le", "Tensor.less_equal"},
       .kernel = elementwise(at::le, [](const Value& x, const Value& y) -> Value {
         return python::less_equal(x, y);
       })});
  table.add({.name = "gt",
             .schema = "input, other",
             .forms = {"torch.gt", "torch.greater", "operator.gt", "Tensor.gt", "Tensor.greater"},
             .kernel = elementwise(at::gt, [](const Value& x, const Value& y) -> Value {
               return python::less(y, x);
             })});
  table.add({.name = "ge",
             .schema = "input, other",
             .forms = {"torch.ge", "torch.greater_equal", "operator.ge", "Tensor.ge",
                       "Tensor.greater_equal"},
             .kernel = elementwise(at::ge, [](const Value& x, const Value& y) -> Value {
               return python::less_equal(y, x);
             })});
}

void add_closeness(OperatorTable& table) {
  table.add({.name = "isclose",
             .schema = "input, other, rtol=1e-05, atol=1e-08, equal_nan=False",
             .forms = {"torch.isclose", "Tensor.isclose"},
             .kernel = [](const Args& a) -> Value {
               return at::isclose(a.tensor("input"), a.tensor("other"), a.number("rtol"),
                                  a.number("atol"), a.flag("equal_nan"));
             }});
  table.add({.name = "allclose",
             .schema = "input, other, rtol=1e-05, atol=1e-08, equal_nan=False",
             .forms = {"torch.allclose", "Tensor.allclose"},
             .kernel = [](const Args& a) -> Value {
               return at::allclose(a.tensor("input"), a.tensor("other"), a.number("rtol"),
                                   a.number("atol"), a.flag("equal_nan"));
             }});
  table.add({.name = "equal",
             .schema = "input, other",
             .forms = {"torch.equal", "Tensor.equal"},
             .kernel = [](const Args& a) -> Value {
               return at::equal(a.tensor("input"), a.tensor("other"));
             }});
}

}  // namespace

void add_comparison_operators(OperatorTable& table) {
  add_equalities(table);
  add_orders(table);
  add_closeness(table);
  table.add({.name = "where",
             .schema = "condition, input|self|x=None, other|y=None",
             .forms = {"torch.where", {"Tensor.where", "input, condition, other"}},
             .kernel = where});
}

}  // namespace sparsebit::fx
