#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::exports {
namespace {

/// A size as a Python int: known now when it is fixed.
NodeResult size_value(Call& c, const OnnxTensor& x, int64_t dim) {
  const int64_t size = x.size(dim);
  if (size >= 0) return fx::Value(size);
  return NodeResult::number(c.w.squeeze(c.w.size_of(x, dim), {0}));
}

NodeResult shape_value(Call& c, const OnnxTensor& x) {
  std::vector<NodeResult> sizes;
  for (int64_t i = 0; i < x.rank(); ++i) sizes.push_back(size_value(c, x, i));
  return NodeResult::sequence(std::move(sizes));
}

NodeResult get_attribute(Call& c) {
  const NodeResult object = c.val("input");
  const std::string name = c.text("name");
  if (object.is_sequence() && (name == "values" || name == "indices"))
    return object.items.at(name == "values" ? 0 : 1);
  if (!holds_tensor(object)) c.unsupported("the attribute '" + name + "' of a computed number");
  const OnnxTensor x = c.sym(object);
  if (name == "shape") return shape_value(c, x);
  if (name == "dtype") return fx::Value(x.dtype);
  if (name == "device") return fx::Value(at::Device(at::kCPU));
  if (name == "ndim") return fx::Value(x.rank());
  if (name == "data") return object;
  if (name == "requires_grad" || name == "is_cuda") return fx::Value(false);
  if (name == "mT") return c.w.swap(x, -1, -2);
  if (name != "T") c.unsupported("the attribute '" + name + "' has no ONNX form");
  std::vector<int64_t> order;
  for (int64_t i = x.rank(); i-- > 0;) order.push_back(i);
  return c.w.transpose(x, order);
}

NodeResult size(Call& c) {
  const OnnxTensor x = c.tensor("input");
  return c.is_none("dim") ? shape_value(c, x) : size_value(c, x, c.integer("dim"));
}

NodeResult numel(Call& c) {
  const OnnxTensor x = c.tensor("input");
  if (x.fixed()) return fx::Value(c10::multiply_integers(*x.shape));
  return NodeResult::number(c.w.numel_of(x));
}

NodeResult length(Call& c) {
  const NodeResult object = c.val("input");
  if (object.is_sequence()) return fx::Value(static_cast<int64_t>(object.items.size()));
  return size_value(c, c.sym(object), 0);
}

/// A one-element value as 0-dim tensor of a Python type; floats are cut to ints.
NodeResult python_number(Call& c, at::ScalarType dtype) {
  const NodeResult given = c.val("input");
  OnnxTensor x = c.scalar(given, dtype_of(given));
  if (x.shape && x.rank() > 0) x = c.w.reshape(x, Shape{});
  if (x.dtype == dtype) return NodeResult::number(x);
  return NodeResult::number(c.w.cast(x, dtype));
}

/// The items that a Python for loop over the value visits.
std::vector<NodeResult> elements(Call& c, const NodeResult& v) {
  if (v.is_sequence()) return v.items;
  if (!holds_tensor(v)) return {v.plain.items().begin(), v.plain.items().end()};
  const OnnxTensor x = c.sym(v);
  if (x.size(0) < 0) c.unsupported("a loop over a dimension that is not fixed");
  std::vector<NodeResult> rows;
  for (int64_t i = 0; i < x.size(0); ++i)
    rows.emplace_back(c.w.gather(x, c.w.scalar(i, at::kLong), 0));
  return rows;
}

/// min() and max(). Python returns an int or a float, depending on which argument is picked; here
/// the result of an int and a float is a float, since a value's type cannot depend on data.
NodeResult pick(Call& c, bool largest) {
  const std::vector<NodeResult> values = c.items("values");
  std::vector<NodeResult> candidates = values.size() == 1 ? elements(c, values[0]) : values;
  NodeResult best = candidates.at(0);
  for (size_t i = 1; i < candidates.size(); ++i) {
    const at::ScalarType dtype = combined_type(best, candidates[i]), work = computable(dtype);
    const OnnxTensor a = c.operand(best, work), b = c.operand(candidates[i], work);
    best = as_operands(c.w.cast(largest ? c.w.maximum(a, b) : c.w.minimum(a, b), dtype), best,
                       candidates[i]);
  }
  return best;
}

NodeResult fold(Call& c, const std::string& type) {
  NodeResult total = c.val("start");
  for (const NodeResult& item : elements(c, c.val("values"))) {
    const bool first = total.is_plain() && total.plain.is_number() &&
                       total.plain.to_double() == (type == "Add" ? 0.0 : 1.0) &&
                       total.plain.is_int();
    total = first ? item : combine(c, type, total, item);
  }
  return total;
}

NodeResult round_number(Call& c) {
  const NodeResult number = c.val("number");
  const OnnxTensor x = c.scalar(number, dtype_of(number));
  if (!at::isFloatingType(x.dtype)) return number;
  if (c.is_none("ndigits")) return NodeResult::number(c.w.cast(c.w.unary("Round", x), at::kLong));
  const double unit = std::pow(10.0, static_cast<double>(c.integer("ndigits")));
  return NodeResult::number(c.w.div(c.w.unary("Round", c.w.mul(x, unit)), unit));
}

NodeResult contains(Call& c) {
  const NodeResult item = c.val("item");
  OnnxTensor found;
  for (const NodeResult& candidate : elements(c, c.val("container"))) {
    const at::ScalarType work = computable(combined_type(candidate, item));
    const OnnxTensor same = c.w.compare("Equal", c.operand(candidate, work), c.operand(item, work));
    found = found.present() ? c.w.logic("Or", found, same) : same;
  }
  return found.present() ? NodeResult::number(found) : NodeResult(fx::Value(false));
}

/// `is`: computed tensors and numbers are never None and never the same object as a constant.
NodeResult is_same(Call& c, bool negated) {
  const fx::Value &a = c.args()["input"], &b = c.args()["other"];
  const bool same = a.is_node() && b.is_node() && &a.node() == &b.node();
  return fx::Value(same != negated);
}

void add_math_module(Converters& table) {
  for (const auto& [name, type] :
       std::initializer_list<std::pair<const char*, const char*>>{{"math.sqrt", "Sqrt"},
                                                                  {"math.exp", "Exp"},
                                                                  {"math.log", "Log"},
                                                                  {"math.sin", "Sin"},
                                                                  {"math.cos", "Cos"},
                                                                  {"math.tanh", "Tanh"}}) {
    table.add(name, [type = std::string(type)](Call& c) {
      return NodeResult::number(c.w.unary(type, c.scalar(c.val("input"), at::kDouble)));
    });
  }
  for (const auto& [name, base] : std::initializer_list<std::pair<const char*, double>>{
           {"math.log2", 2.0}, {"math.log10", 10.0}}) {
    table.add(name, [base = base](Call& c) {
      const OnnxTensor x = c.scalar(c.val("input"), at::kDouble);
      return NodeResult::number(c.w.div(c.w.unary("Log", x), std::log(base)));
    });
  }
  const auto rounding = [](auto round) {
    return [round](Call& c) -> NodeResult {
      const NodeResult given = c.val("input");
      if (!at::isFloatingType(dtype_of(given))) return python_number(c, at::kLong);
      return NodeResult::number(c.w.cast(round(c.w, c.scalar(given, at::kDouble)), at::kLong));
    };
  };
  table.add("math.floor",
            rounding([](GraphWriter& w, const OnnxTensor& x) { return w.unary("Floor", x); }));
  table.add("math.ceil",
            rounding([](GraphWriter& w, const OnnxTensor& x) { return w.unary("Ceil", x); }));
  table.add("math.trunc", rounding([](GraphWriter&, const OnnxTensor& x) { return x; }));
  table.add("math.prod", [](Call& c) { return fold(c, "Mul"); });
}

}  // namespace

void add_python_converters(Converters& table) {
  table.add("getattr", get_attribute);
  table.add("size", size);
  table.add("dim", [](Call& c) -> NodeResult { return fx::Value(c.tensor("input").rank()); });
  table.add("numel", numel);
  table.add("is_floating_point", [](Call& c) -> NodeResult {
    return fx::Value(at::isFloatingType(c.tensor("input").dtype));
  });
  table.add("len", length);
  table.add("int", [](Call& c) { return python_number(c, at::kLong); });
  table.add("index", [](Call& c) { return python_number(c, at::kLong); });
  table.add("float", [](Call& c) { return python_number(c, at::kDouble); });
  table.add("bool", [](Call& c) { return python_number(c, at::kBool); });
  table.add("tuple", [](Call& c) { return NodeResult::sequence(elements(c, c.val("input"))); });
  table.add("list",
            [](Call& c) { return NodeResult::sequence(elements(c, c.val("input")), true); });
  table.add("range", [](Call& c) -> NodeResult {
    c.unsupported("range() over a number that is not fixed");
  });
  table.add("builtin_max", [](Call& c) { return pick(c, true); });
  table.add("builtin_min", [](Call& c) { return pick(c, false); });
  table.add("builtin_sum", [](Call& c) { return fold(c, "Add"); });
  table.add("builtin_round", round_number);
  table.add("contains", contains);
  table.add("is", [](Call& c) { return is_same(c, false); });
  table.add("is_not", [](Call& c) { return is_same(c, true); });
  table.add("assert", [](Call&) -> NodeResult { return fx::Value(fx::None()); });
  add_math_module(table);
}

}  // namespace sparsebit::exports
