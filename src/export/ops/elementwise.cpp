#include "export/ops/elementwise.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {

NodeResult as_operands(OnnxTensor result, const NodeResult& a, const NodeResult& b) {
  return holds_tensor(a) || holds_tensor(b) ? NodeResult(std::move(result))
                                            : NodeResult::number(std::move(result));
}

at::ScalarType combined_type(const NodeResult& a, const NodeResult& b) {
  if (holds_tensor(a) || holds_tensor(b)) return result_type(a, b);
  const bool real = at::isFloatingType(dtype_of(a)) || at::isFloatingType(dtype_of(b));
  return real ? at::kDouble : at::kLong;
}

NodeResult combine(Call& c, const std::string& type, const NodeResult& a, const NodeResult& b) {
  const at::ScalarType dtype = combined_type(a, b), work = computable(dtype);
  const OnnxTensor result = c.w.binary(type, c.operand(a, work), c.operand(b, work));
  return as_operands(c.w.cast(result, dtype), a, b);
}

OnnxTensor float_input(Call& c, std::string_view name) {
  const OnnxTensor x = c.tensor(name);
  const bool real = at::isFloatingType(x.dtype) || x.dtype == at::ScalarType::Undefined;
  return real ? x : c.w.cast(x, at::kFloat);
}

Converter float_unary(const std::string& type) {
  return [type](Call& c) -> NodeResult { return c.w.unary(type, float_input(c)); };
}

OnnxTensor truncate(GraphWriter& w, const OnnxTensor& x) {
  return w.mul(w.unary("Sign", x), w.unary("Floor", w.unary("Abs", x)));
}

OnnxTensor floor_divide(GraphWriter& w, const OnnxTensor& a, const OnnxTensor& b) {
  if (at::isFloatingType(a.dtype)) return w.unary("Floor", w.div(a, b));
  const OnnxTensor quotient = w.div(a, b);  // rounded towards zero
  const OnnxTensor rest = w.sub(a, w.mul(quotient, b));
  const OnnxTensor zero = w.scalar_like(0, a);
  const OnnxTensor signs_differ =
      w.logic("Xor", w.compare("Less", rest, zero), w.compare("Less", b, zero));
  const OnnxTensor inexact = w.logical_not(w.compare("Equal", rest, zero));
  return w.sub(quotient, w.cast(w.logic("And", signs_differ, inexact), a.dtype));
}

}  // namespace sparsebit::exports
