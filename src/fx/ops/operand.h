#pragma once

#include "fx/ops/kernels.h"
#include "fx/ops/python_value.h"

#include <concepts>
#include <initializer_list>

// Helpers for operators that take Python numbers where a tensor may stand.

namespace sparsebit::fx {

/// A tensor as it is; a number as a tensor that adapts to the other operand's dtype, as in torch.
at::Tensor operand(const Value& value);

/// Numbers and nested lists of numbers (or of one-element tensors) as `torch.tensor` makes them:
/// bool, int64 or the default float, unless a dtype is given.
at::Tensor tensor_from(const Value& data, c10::optional<at::ScalarType> dtype = c10::nullopt);

/// What Python computes when no operand is a tensor.
using PlainBinary = Value (*)(const Value&, const Value&);

/// Kernel of an operator whose first two arguments are its operands, either of which may be a
/// number. `plain` computes calls without a tensor; null: one operand must be a tensor.
template <class Pure>
Kernel binary(Pure pure, PlainBinary plain = nullptr) {
  return [=](const Args& a) -> Value {
    const Value &x = a.values()[0], &y = a.values()[1];
    if (plain && !x.is_tensor() && !y.is_tensor()) return plain(x, y);
    return pure(operand(x), operand(y), a);
  };
}

/// As above for operators with an argument `inplace`, which only applies to a tensor on the left:
/// `n += x` with a number n makes a new tensor.
template <class Pure, class Inplace>
requires std::invocable<Inplace, at::Tensor&, const at::Tensor&, const Args&> Kernel
binary(Pure pure, Inplace inplace, PlainBinary plain = nullptr) {
  const Kernel without_inplace = binary(pure, plain);
  return [=](const Args& a) -> Value {
    if (!a.values()[0].is_tensor() || !a.flag("inplace")) return without_inplace(a);
    at::Tensor x = a.values()[0].tensor();
    return inplace(x, operand(a.values()[1]), a);
  };
}

/// The same for ATen functions without further arguments: `elementwise(at::mul, &Tensor::mul_)`.
using TensorBinary = at::Tensor (*)(const at::Tensor&, const at::Tensor&);
using TensorBinaryInplace = at::Tensor& (at::Tensor::*)(const at::Tensor&) const;
Kernel elementwise(TensorBinary pure, PlainBinary plain = nullptr);
Kernel elementwise(TensorBinary pure, TensorBinaryInplace inplace, PlainBinary plain = nullptr);

/// `torch.exp` and `Tensor.exp` for the name "exp".
std::vector<Form> function_and_method(std::initializer_list<std::string> names);

}  // namespace sparsebit::fx
