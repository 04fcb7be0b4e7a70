#include "frontends/onnx/shape_arithmetic.h"

#include <ATen/ATen.h>

#include <map>

namespace sparsebit::frontends {
namespace {

using fx::List;
using fx::Value;
using Kind = Operand::Kind;

constexpr size_t kLongestList = 1024;  // longer tensors are not shapes

bool all_ints(const std::vector<Value>& items) {
  return std::all_of(items.begin(), items.end(), [](const Value& item) { return item.is_int(); });
}

/// A list without nodes becomes a constant.
void give_ints(Conversion& c, const List& list) {
  if (all_ints(list.items)) return c.give(Value(at::tensor(Value(list).ints(), at::kLong)));
  c.give({Kind::Ints, list});
}

void give_int(Conversion& c, const Value& value) {
  if (value.is_int()) return c.give(Value(at::scalar_tensor(value.to_int(), at::kLong)));
  c.give({Kind::Int, value});
}

/// A slice bound with Python's meaning, clamped to [0, size].
int64_t clamp_bound(int64_t bound, int64_t size) {
  return std::clamp(bound < 0 ? bound + size : bound, int64_t{0}, size);
}

/// Shape of a list of ints: its length is known, even if its items are not.
bool convert_shape_of_ints(Conversion& c) {
  const int64_t start = c.attributes().integer("start", 0), end = c.attributes().integer("end", 1);
  if (start != 0 || end != 1) return false;
  const bool is_list = c.operand(0).kind == Kind::Ints;
  const auto count = static_cast<int64_t>(is_list ? c.operand(0).value.items().size() : 0);
  c.give(Value(is_list ? at::full({1}, count, at::kLong) : at::empty({0}, at::kLong)));
  return true;
}

bool convert_shape(Conversion& c) {
  if (c.operand(0).is_symbolic()) return convert_shape_of_ints(c);
  const std::optional<int64_t> rank = c.rank(0);
  const int64_t start = c.attributes().integer("start", 0);
  const int64_t end = c.attributes().integer("end", rank.value_or(0));
  if (!rank) return false;
  List sizes;
  for (int64_t dim = clamp_bound(start, *rank); dim < clamp_bound(end, *rank); ++dim) {
    sizes.items.push_back(c.size(0, dim));
  }
  give_ints(c, sizes);
  return true;
}

bool convert_size(Conversion& c) {
  const auto info = c.info(0);
  const bool fixed = info && std::none_of(info->shape.begin(), info->shape.end(),
                                          [](int64_t size) { return size < 0; });
  int64_t count = 1;
  const auto multiply = [&count](int64_t size) {
    return !__builtin_mul_overflow(count, size, &count);
  };
  if (fixed && std::all_of(info->shape.begin(), info->shape.end(), multiply)) {
    give_int(c, count);
  } else {
    c.give({Kind::Int, c.method("numel", {c.tensor(0)})});
  }
  return true;
}

bool fold_gather(Conversion& c) {
  const auto indices = c.constant_ints(1);
  if (c.operand(0).kind != Kind::Ints || !indices || indices->size() > kLongestList) return false;
  c.attributes().ignore("axis");  // a list has only one axis
  const std::vector<Value>& items = c.operand(0).value.items();
  const auto size = static_cast<int64_t>(items.size());
  List picked;
  for (const int64_t index : *indices) {
    const int64_t position = index < 0 ? index + size : index;
    if (position < 0 || position >= size) return false;
    picked.items.push_back(items[static_cast<size_t>(position)]);
  }
  if (c.constant(1)->dim() == 0) {
    give_int(c, picked.items[0]);
  } else {
    give_ints(c, picked);
  }
  return true;
}

bool fold_slice(Conversion& c) {
  if (c.operand(0).kind != Kind::Ints) return false;
  const bool as_inputs = c.opset() >= 10;
  const auto starts = as_inputs ? c.constant_ints(1) : c.attributes().ints("starts");
  const auto ends = as_inputs ? c.constant_ints(2) : c.attributes().ints("ends");
  const auto steps = as_inputs && c.has_input(4) ? c.constant_ints(4) : std::vector<int64_t>{1};
  if (!as_inputs) c.attributes().ignore("axes");
  if (!starts || !ends || !steps || starts->size() != 1 || ends->size() != 1) return false;
  if (steps->size() != 1 || steps->front() != 1) return false;
  const std::vector<Value>& items = c.operand(0).value.items();
  const auto size = static_cast<int64_t>(items.size());
  List part;
  for (int64_t i = clamp_bound(starts->front(), size); i < clamp_bound(ends->front(), size); ++i) {
    part.items.push_back(items[static_cast<size_t>(i)]);
  }
  give_ints(c, part);
  return true;
}

bool fold_concat(Conversion& c) {
  List joined;
  for (size_t i = 0; i < c.input_count(); ++i) {
    const auto part = c.int_list(i);
    if (!part) return false;
    joined.items.insert(joined.items.end(), part->items.begin(), part->items.end());
    if (joined.items.size() > kLongestList) return false;
  }
  c.attributes().ignore("axis");
  give_ints(c, joined);
  return true;
}

/// Whether Squeeze or Unsqueeze removes or adds the only axis of a list.
bool names_only_axis(const Conversion& c) {
  const bool as_input = c.opset() >= 13;
  const bool given = as_input ? c.has_input(1) : c.attributes().has("axes");
  if (!given) return c.type() == "Squeeze";  // all axes of size 1
  const auto axes = as_input ? c.constant_ints(1) : c.attributes().ints("axes");
  return axes && axes->size() == 1 && (axes->front() == 0 || axes->front() == -1);
}

/// Unsqueeze, Squeeze and Reshape between a number and a list of one.
bool fold_reshape(Conversion& c) {
  const Operand& x = c.operand(0);
  if (!x.is_symbolic()) return false;  // only its axes are known
  const bool to_number = c.type() == "Squeeze";
  if (c.type() == "Reshape") {
    const auto shape = c.constant_ints(1);
    c.attributes().ignore("allowzero");
    const bool to_list =
        shape && shape->size() == 1 && (x.kind == Kind::Ints || shape->front() != 0);
    if (!to_list) return false;
  } else if (!names_only_axis(c)) {
    return false;
  }
  if (x.kind == Kind::Int) {
    if (to_number) return false;
    give_ints(c, List{x.value});
    return true;
  }
  const std::vector<Value>& items = x.value.items();
  if (c.type() == "Unsqueeze") return false;
  if (to_number && items.size() != 1) return false;
  if (to_number) {
    give_int(c, items[0]);
  } else {
    give_ints(c, x.value.get<List>());
  }
  return true;
}

bool fold_cast(Conversion& c) {
  if (c.attributes().dtype("to") != at::kLong) return false;
  c.attributes().ignore("saturate");
  c.give(c.operand(0));
  return true;
}

bool fold_identity(Conversion& c) {
  c.give(c.operand(0));
  return true;
}

/// Whether a value is a size, or a sum, product or quotient of sizes.
bool is_never_negative(const Value& value) {
  if (value.is_int()) return value.to_int() >= 0;
  if (!value.is_node()) return false;
  const fx::Node& node = value.node();
  if (node.op() == fx::Opcode::CallMethod)
    return node.target() == "size" || node.target() == "numel";
  const bool keeps_sign = node.target() == "operator.add" || node.target() == "operator.mul" ||
                          node.target() == "operator.floordiv";
  return keeps_sign && std::all_of(node.args().begin(), node.args().end(), is_never_negative);
}

/// Division rounds down here but towards zero in ONNX, which is the same for sizes (never
/// negative).
bool fold_binary(Conversion& c) {
  static const std::map<std::string, const char*> functions = {{"Add", "operator.add"},
                                                               {"Sub", "operator.sub"},
                                                               {"Mul", "operator.mul"},
                                                               {"Div", "operator.floordiv"}};
  const auto a = c.int_list(0), b = c.int_list(1);
  if (!a || !b) return false;
  const size_t size = std::max(a->items.size(), b->items.size());
  if (size > kLongestList) return false;
  const bool fits = (a->items.size() == size || a->items.size() == 1) &&
                    (b->items.size() == size || b->items.size() == 1);
  if (!fits || a->items.empty() || b->items.empty()) return false;
  List results;
  for (size_t i = 0; i < size; ++i) {
    const Value& x = a->items[a->items.size() == 1 ? 0 : i];
    const Value& y = b->items[b->items.size() == 1 ? 0 : i];
    const bool by_zero = y.is_int() && y.to_int() == 0;
    const bool rounds_alike = is_never_negative(x) && is_never_negative(y) && !by_zero;
    if (c.type() == "Div" && !rounds_alike) return false;
    results.items.push_back(c.function(functions.at(c.type()), {x, y}));
  }
  const auto is_scalar = [&c](size_t i) {
    return c.operand(i).kind == Kind::Int || (c.constant(i) && c.constant(i)->dim() == 0);
  };
  if (is_scalar(0) && is_scalar(1)) {
    give_int(c, results.items[0]);
  } else {
    give_ints(c, results);
  }
  return true;
}

/// Whether two items are equal, when that is known: a size is never negative.
std::optional<bool> are_equal(const Value& x, const Value& y) {
  if (x.is_int() && y.is_int()) return x.to_int() == y.to_int();
  if (x.is_int()) return are_equal(y, x);
  const bool is_size = x.is_node() && x.node().op() == fx::Opcode::CallMethod &&
                       (x.node().target() == "size" || x.node().target() == "numel");
  if (is_size && y.is_int() && y.to_int() < 0) return false;
  return std::nullopt;
}

/// torch.Tensor.expand is exported with a comparison against -1, the size that means "keep".
bool fold_equal(Conversion& c) {
  const auto a = c.int_list(0), b = c.int_list(1);
  if (!a || !b || a->items.size() != b->items.size()) return false;
  if (c.operand(0).kind == Kind::Int || c.operand(1).kind == Kind::Int) return false;
  at::Tensor equal = at::empty({static_cast<int64_t>(a->items.size())}, at::kBool);
  for (size_t i = 0; i < a->items.size(); ++i) {
    const std::optional<bool> known = are_equal(a->items[i], b->items[i]);
    if (!known) return false;
    equal[static_cast<int64_t>(i)] = *known;
  }
  c.give(Value(equal));
  return true;
}

/// A Where between two lists whose condition is known.
bool fold_where(Conversion& c) {
  const auto condition = c.constant_ints(0);
  const auto yes = c.int_list(1), no = c.int_list(2);
  if (!condition || c.constant(0)->dim() != 1 || !yes || !no) return false;
  const size_t size = condition->size();
  if (yes->items.size() != size || no->items.size() != size) return false;
  List chosen;
  for (size_t i = 0; i < size; ++i) {
    chosen.items.push_back((*condition)[i] ? yes->items[i] : no->items[i]);
  }
  give_ints(c, chosen);
  return true;
}

bool fold_product(Conversion& c) {
  if (c.operand(0).kind != Kind::Ints || c.has_input(1)) return false;
  c.attributes().ignore("axes");
  if (c.attributes().flag("noop_with_empty_axes", false)) return false;
  const bool keep = c.attributes().flag("keepdims", true);
  Value product = int64_t{1};
  for (const Value& item : c.operand(0).value.items()) {
    const bool is_one = product.is_int() && product.to_int() == 1;
    product = is_one ? item : c.function("operator.mul", {product, item});
  }
  if (keep) {
    give_ints(c, List{product});
  } else {
    give_int(c, product);
  }
  return true;
}

bool has_symbolic_input(const Conversion& c) {
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (c.has_input(i) && c.operand(i).is_symbolic()) return true;
  }
  return false;
}

}  // namespace

bool convert_shape_arithmetic(Conversion& c) {
  using Step = bool (*)(Conversion&);
  static const std::map<std::string, Step> steps = {
      {"Add", fold_binary},         {"Sub", fold_binary},      {"Mul", fold_binary},
      {"Div", fold_binary},         {"Gather", fold_gather},   {"Slice", fold_slice},
      {"Concat", fold_concat},      {"Squeeze", fold_reshape}, {"Unsqueeze", fold_reshape},
      {"Reshape", fold_reshape},    {"Cast", fold_cast},       {"Identity", fold_identity},
      {"ReduceProd", fold_product}, {"Equal", fold_equal},     {"Where", fold_where}};
  if (c.type() == "Shape") return c.has_input(0) && convert_shape(c);
  if (c.type() == "Size") return c.has_input(0) && !c.operand(0).is_symbolic() && convert_size(c);
  if (!has_symbolic_input(c)) return false;
  const auto it = steps.find(c.type());
  return it != steps.end() && it->second(c);
}

}  // namespace sparsebit::frontends
