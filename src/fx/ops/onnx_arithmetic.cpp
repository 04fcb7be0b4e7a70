#include "fx/ops/families.h"
#include "fx/ops/integer_division.h"
#include "fx/ops/operand.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

// Arithmetic whose meaning depends on the element type, for operands whose type is only known when
// the model runs. Operands of known types are imported as calls of torch's functions.

namespace sparsebit::fx {
namespace {

using at::Tensor;

bool is_integer(const Tensor& x) {
  return at::isIntegralType(x.scalar_type(), /*includeBool=*/true);
}

/// Integers are divided towards zero.
Value divide(const Args& a) {
  const Tensor x = operand(a["A"]), y = operand(a["B"]);
  if (!is_integer(x) || !is_integer(y)) return at::div(x, y);
  SPARSEBIT_CHECK(y.ne(0).all().item<bool>(), InvalidArgument, "an integer is divided by zero");
  return rounded_quotient(x, y, "trunc");
}

/// The result has the base's type, whatever the exponent's.
Value power(const Args& a) {
  const Tensor base = a.tensor("X"), exponent = operand(a["Y"]);
  if (is_integer(base) && !is_integer(exponent)) {
    return at::pow(base.to(at::kDouble), exponent.to(at::kDouble)).to(base.scalar_type());
  }
  return at::pow(base, exponent.to(base.scalar_type()));
}

}  // namespace

void add_onnx_arithmetic_operators(OperatorTable& table) {
  table.add({.name = "onnx.Div", .schema = "A, B", .forms = {"onnx.Div"}, .kernel = divide});
  table.add({.name = "onnx.Pow", .schema = "X, Y", .forms = {"onnx.Pow"}, .kernel = power});
}

}  // namespace sparsebit::fx
