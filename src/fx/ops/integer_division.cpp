#include "fx/ops/integer_division.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;

/// Operands converted to the result's type, with divisors -1 replaced by 1, and a mask of these.
struct Division {
  Tensor x, y, by_minus_one;

  Division(const Tensor& dividend, const Tensor& divisor) {
    const at::ScalarType dtype = at::result_type(dividend, divisor);
    x = dividend.to(dtype);
    by_minus_one = divisor.eq(-1);
    y = divisor.to(dtype).masked_fill(by_minus_one, 1);
  }
};

template <class Rest>
Tensor remainder_of(const Tensor& x, const Tensor& y, const Rest& rest) {
  if (!division_may_trap(x, y)) return rest(x, y);
  const Division d(x, y);  // dividing by 1 instead of -1 has the same remainder, 0
  return rest(d.x, d.y);
}

}  // namespace

bool division_may_trap(const Tensor& x, const Tensor& y) {
  const bool integers = at::isIntegralType(x.scalar_type(), /*includeBool=*/true) &&
                        at::isIntegralType(y.scalar_type(), /*includeBool=*/false) &&
                        y.scalar_type() != at::kByte;
  return integers && y.eq(-1).any().item<bool>();
}

Tensor rounded_quotient(const Tensor& x, const Tensor& y, c10::string_view rounding) {
  if (!division_may_trap(x, y)) return at::div(x, y, rounding);
  const Division d(x, y);
  return at::where(d.by_minus_one, at::neg(d.x), at::div(d.x, d.y, rounding));
}

Tensor floor_remainder(const Tensor& x, const Tensor& y) {
  return remainder_of(x, y, [](const Tensor& a, const Tensor& b) { return at::remainder(a, b); });
}

Tensor trunc_remainder(const Tensor& x, const Tensor& y) {
  return remainder_of(x, y, [](const Tensor& a, const Tensor& b) { return at::fmod(a, b); });
}

Kernel division(TensorBinary pure, TensorBinaryInplace inplace, PlainBinary plain) {
  return binary([=](const Tensor& x, const Tensor& y, const Args&) { return pure(x, y); },
                [=](Tensor& x, const Tensor& y, const Args&) -> Tensor {
                  return division_may_trap(x, y) ? x.copy_(pure(x, y)) : (x.*inplace)(y);
                },
                plain);
}

}  // namespace sparsebit::fx
