#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <limits>

namespace sparsebit::exports {
namespace {

bool comparable(const NodeResult& v) {
  return v.is_number() || holds_tensor(v) || (v.is_plain() && v.plain.is_number());
}

OnnxTensor compare(Call& c, const std::string& type, const NodeResult& a, const NodeResult& b) {
  const at::ScalarType dtype = combined_type(a, b), work = computable(dtype);
  return c.w.compare(type, c.operand(a, work), c.operand(b, work));
}

Converter comparison(const std::string& type, bool negated = false) {
  return [=](Call& c) -> NodeResult {
    const NodeResult a = c.val("input"), b = c.val("other");
    // `x == None` and `x == 'text'` are plain bools, as in Python.
    if (!comparable(a) || !comparable(b)) {
      if (a.is_sequence() || b.is_sequence())
        c.unsupported("comparing lists whose items are computed");
      return fx::Value(negated);
    }
    OnnxTensor result = compare(c, type, a, b);
    if (negated) result = c.w.logical_not(result);
    return as_operands(result, a, b);
  };
}

NodeResult where(Call& c) {
  const OnnxTensor condition = c.w.cast(c.tensor("condition"), at::kBool);
  if (c.is_none("input") && c.is_none("other")) {
    const OnnxTensor positions = c.w.nonzero(condition);
    std::vector<NodeResult> items;
    for (int64_t i = 0; i < std::max<int64_t>(condition.rank(), 1); ++i)
      items.emplace_back(c.w.gather(positions, c.w.scalar(i, at::kLong), 0));
    return NodeResult::sequence(std::move(items));
  }
  const NodeResult a = c.val("input"), b = c.val("other");
  at::ScalarType dtype = result_type(a, b);
  if (!holds_tensor(a) && !holds_tensor(b)) {
    const at::ScalarType combined = combined_type(a, b);
    dtype = combined == at::kDouble ? at::kFloat : combined;
    if (dtype_of(a) == at::kBool && dtype_of(b) == at::kBool) dtype = at::kBool;
  }
  return c.w.where(condition, c.operand(a, dtype), c.operand(b, dtype));
}

/// |a - b| <= atol + rtol * |b|, and equal infinities are close.
OnnxTensor is_close(Call& c) {
  GraphWriter& w = c.w;
  const OnnxTensor a = c.tensor("input"), b = c.tensor("other");
  const OnnxTensor same =
      w.compare("Equal", w.cast(a, computable(a.dtype)), w.cast(b, computable(b.dtype)));
  if (!at::isFloatingType(a.dtype)) {
    const OnnxTensor x = w.cast(a, at::kDouble), y = w.cast(b, at::kDouble);
    const OnnxTensor allowed = w.add(w.mul(w.unary("Abs", y), c.number("rtol")), c.number("atol"));
    return w.logic("Or", same, w.compare("LessOrEqual", w.unary("Abs", w.sub(x, y)), allowed));
  }
  const OnnxTensor allowed = w.add(w.mul(w.unary("Abs", b), c.number("rtol")), c.number("atol"));
  const OnnxTensor difference = w.unary("Abs", w.sub(a, b));
  const OnnxTensor finite =
      w.compare("Less", difference, w.scalar(std::numeric_limits<double>::infinity(), a.dtype));
  const OnnxTensor close = w.logic("And", finite, w.compare("LessOrEqual", difference, allowed));
  OnnxTensor result = w.logic("Or", same, close);
  if (c.flag("equal_nan")) {
    const auto nan = [&](const OnnxTensor& x) {
      return w.op("IsNaN", {x}, {}, at::kBool, x.shape);
    };
    result = w.logic("Or", result, w.logic("And", nan(a), nan(b)));
  }
  return result;
}

OnnxTensor all_of(GraphWriter& w, const OnnxTensor& truths) {
  if (truths.rank() == 0) return truths;
  return w.cast(w.reduce("ReduceMin", w.cast(truths, at::kInt), {}, false), at::kBool);
}

/// Tensors of different shapes are not equal; shapes are compared now.
NodeResult equal(Call& c) {
  const OnnxTensor a = c.tensor("input"), b = c.tensor("other");
  if (!a.fixed() || !b.fixed()) c.unsupported("torch.equal needs tensors of fixed size");
  if (a.shape != b.shape) return fx::Value(false);
  return NodeResult::number(all_of(c.w, compare(c, "Equal", c.val("input"), c.val("other"))));
}

}  // namespace

void add_comparison_converters(Converters& table) {
  table.add("eq", comparison("Equal"));
  table.add("ne", comparison("Equal", /*negated=*/true));
  table.add("lt", comparison("Less"));
  table.add("le", comparison("LessOrEqual"));
  table.add("gt", comparison("Greater"));
  table.add("ge", comparison("GreaterOrEqual"));
  table.add("where", where);
  table.add("isclose", [](Call& c) -> NodeResult { return is_close(c); });
  table.add("allclose", [](Call& c) { return NodeResult::number(all_of(c.w, is_close(c))); });
  table.add("equal", equal);
}

}  // namespace sparsebit::exports
