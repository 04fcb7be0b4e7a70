#include "export/ops/elementwise.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {

Val as_operands(Sym result, const Val& a, const Val& b) {
  return holds_tensor(a) || holds_tensor(b) ? Val(std::move(result))
                                            : Val::number(std::move(result));
}

at::ScalarType combined_type(const Val& a, const Val& b) {
  if (holds_tensor(a) || holds_tensor(b)) return result_type(a, b);
  const bool real = at::isFloatingType(dtype_of(a)) || at::isFloatingType(dtype_of(b));
  return real ? at::kDouble : at::kLong;
}

Val combine(Call& c, const std::string& type, const Val& a, const Val& b) {
  const at::ScalarType dtype = combined_type(a, b), work = computable(dtype);
  const Sym result = c.w.binary(type, c.operand(a, work), c.operand(b, work));
  return as_operands(c.w.cast(result, dtype), a, b);
}

Sym float_input(Call& c, std::string_view name) {
  const Sym x = c.tensor(name);
  const bool real = at::isFloatingType(x.dtype) || x.dtype == at::ScalarType::Undefined;
  return real ? x : c.w.cast(x, at::kFloat);
}

Converter float_unary(const std::string& type) {
  return [type](Call& c) -> Val { return c.w.unary(type, float_input(c)); };
}

Sym truncate(GraphWriter& w, const Sym& x) {
  return w.mul(w.unary("Sign", x), w.unary("Floor", w.unary("Abs", x)));
}

Sym floor_divide(GraphWriter& w, const Sym& a, const Sym& b) {
  if (at::isFloatingType(a.dtype)) return w.unary("Floor", w.div(a, b));
  const Sym quotient = w.div(a, b);  // rounded towards zero
  const Sym rest = w.sub(a, w.mul(quotient, b));
  const Sym zero = w.scalar_like(0, a);
  const Sym signs_differ =
      w.logic("Xor", w.compare("Less", rest, zero), w.compare("Less", b, zero));
  const Sym inexact = w.logical_not(w.compare("Equal", rest, zero));
  return w.sub(quotient, w.cast(w.logic("And", signs_differ, inexact), a.dtype));
}

}  // namespace sparsebit::exports
