#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {
namespace {

OnnxTensor truth(Call& c, const NodeResult& v) { return c.w.cast(c.sym(v), at::kBool); }

Converter logical(const std::string& type) {
  return [type](Call& c) -> NodeResult {
    return c.w.logic(type, truth(c, c.val("input")), truth(c, c.val("other")));
  };
}

/// Bit i of integers in two's complement, as 0 or 1.
OnnxTensor bit(GraphWriter& w, const OnnxTensor& x, int64_t i) {
  const OnnxTensor divisor = w.scalar(int64_t{1} << i, at::kLong), two = w.scalar(2, at::kLong);
  const OnnxTensor shifted = floor_divide(w, x, divisor);
  return w.op("Mod", {shifted, two}, {}, at::kLong, x.shape);
}

int64_t bits_of(at::ScalarType dtype) { return 8 * static_cast<int64_t>(c10::elementSize(dtype)); }

/// Before opset 18 ONNX has no bitwise operators: computes each bit separately.
OnnxTensor bit_by_bit(GraphWriter& w, const std::string& type, const OnnxTensor& a,
                      const OnnxTensor& b, at::ScalarType dtype) {
  const int64_t bits = bits_of(dtype);
  const bool is_signed = dtype != at::kByte;
  OnnxTensor sum;
  for (int64_t i = 0; i < bits; ++i) {
    const bool sign = is_signed && i == bits - 1;
    const auto part = [&](const OnnxTensor& x) {
      return sign ? w.compare("Less", x, 0.0) : w.cast(bit(w, x, i), at::kBool);
    };
    const OnnxTensor on = w.cast(w.logic(type, part(a), part(b)), at::kLong);
    const int64_t weight = sign ? -(int64_t{1} << (bits - 2)) : int64_t{1} << i;
    OnnxTensor term = w.mul(on, w.scalar(weight, at::kLong));
    if (sign) term = w.add(term, term);  // -2^63 has no positive counterpart
    sum = sum.present() ? w.add(sum, term) : term;
  }
  return w.cast(sum, dtype);
}

Converter bitwise(const std::string& type) {
  return [type](Call& c) -> NodeResult {
    const NodeResult a = c.val("input"), b = c.val("other");
    const bool bools = dtype_of(a) == at::kBool && dtype_of(b) == at::kBool;
    const at::ScalarType dtype = bools ? at::kBool : combined_type(a, b);
    if (bools) return as_operands(c.w.logic(type, c.sym(a), c.sym(b)), a, b);
    const OnnxTensor x = c.operand(a, dtype), y = c.operand(b, dtype);
    if (c.w.opset() >= 18) return as_operands(c.w.binary("Bitwise" + type, x, y), a, b);
    return as_operands(bit_by_bit(c.w, type, c.w.cast(x, at::kLong), c.w.cast(y, at::kLong), dtype),
                       a, b);
  };
}

/// ~x is -x - 1.
NodeResult bitwise_not(Call& c) {
  const NodeResult a = c.val("input");
  const OnnxTensor x = c.sym(a);
  if (x.dtype == at::kBool && holds_tensor(a)) return c.w.logical_not(x);
  const OnnxTensor wide = c.w.cast(x, x.dtype == at::kBool ? at::kLong : computable(x.dtype));
  return as_operands(c.w.cast(c.w.sub(c.w.neg(wide), 1.0), holds_tensor(a) ? x.dtype : at::kLong),
                     a, a);
}

/// Multiplication by a power of two; a shift to the right rounds down.
NodeResult shift(Call& c, bool left) {
  const NodeResult a = c.val("input"), b = c.val("other");
  const at::ScalarType dtype = combined_type(a, b);
  GraphWriter& w = c.w;
  const OnnxTensor x = c.operand(a, at::kLong);
  const OnnxTensor count = w.cast(c.operand(b, dtype), at::kDouble);
  const OnnxTensor power = w.cast(w.pow(w.scalar(2.0, at::kDouble), count), at::kLong);
  const OnnxTensor moved = left ? w.mul(x, power) : floor_divide(w, x, power);
  return as_operands(w.cast(moved, dtype), a, b);
}

}  // namespace

void add_logic_converters(Converters& table) {
  table.add("logical_and", logical("And"));
  table.add("logical_or", logical("Or"));
  table.add("logical_xor", logical("Xor"));
  table.add("logical_not",
            [](Call& c) -> NodeResult { return c.w.logical_not(truth(c, c.val("input"))); });
  table.add("not", [](Call& c) {
    const NodeResult x = c.val("input");
    return NodeResult::number(c.w.logical_not(c.w.cast(c.scalar(x, dtype_of(x)), at::kBool)));
  });
  table.add("bitwise_and", bitwise("And"));
  table.add("bitwise_or", bitwise("Or"));
  table.add("bitwise_xor", bitwise("Xor"));
  table.add("bitwise_not", bitwise_not);
  table.add("bitwise_left_shift", [](Call& c) { return shift(c, true); });
  table.add("bitwise_right_shift", [](Call& c) { return shift(c, false); });
}

}  // namespace sparsebit::exports
