#include "frontends/onnx/ops/axis.h"
#include "frontends/onnx/ops/families.h"
#include "frontends/onnx/ops/growth.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {
namespace {

using fx::List;
using fx::Value;
using Ints = std::vector<int64_t>;

bool is_int(const Value& value, int64_t expected) {
  return value.is_int() && value.to_int() == expected;
}

void convert_reshape(Conversion& c) {
  const bool allow_zero = c.attributes().flag("allowzero", false);
  auto shape = c.int_list(1);
  const Value x = c.tensor(0);
  if (!shape) {
    return c.give(c.node("onnx.Reshape", {x, c.tensor(1)}, {{"allowzero", int64_t{allow_zero}}}));
  }
  const bool keeps_first = shape->items.size() == 2 && is_int(shape->items[0], 0) && !allow_zero;
  if (keeps_first && is_int(shape->items[1], -1) && c.rank(0).value_or(0) >= 2) {
    return c.give(c.function("torch.flatten", {x, 1}));
  }
  for (size_t i = 0; i < shape->items.size() && !allow_zero; ++i) {
    if (!is_int(shape->items[i], 0)) continue;
    SPARSEBIT_CHECK(!c.rank(0) || static_cast<int64_t>(i) < *c.rank(0), InvalidModel, "shape[", i,
                    "] copies the size of an axis that its input does not have");
    shape->items[i] = c.size(0, static_cast<int64_t>(i));
  }
  c.give(c.function("torch.reshape", {x, *shape}));
}

void convert_flatten(Conversion& c) {
  int64_t axis = c.attributes().integer("axis", 1);
  const auto rank = c.rank(0);
  if (!rank && axis != 0 && axis != 1)
    return c.give(c.node("onnx.Flatten", {c.tensor(0)}, {{"axis", axis}}));
  if (rank) axis = axis == *rank ? axis : wrap_axis(axis, *rank);
  const Value x = c.tensor(0);
  if (axis == 0) return c.give(c.function("torch.reshape", {x, Ints{1, -1}}));
  if (rank && axis == *rank) return c.give(c.function("torch.reshape", {x, Ints{-1, 1}}));
  const Value tail = rank && axis == *rank - 1 ? x : c.function("torch.flatten", {x, axis});
  c.give(axis == 1 ? tail : c.function("torch.flatten", {tail, 0, axis - 1}));
}

void convert_transpose(Conversion& c) {
  auto perm = c.attributes().ints("perm");
  const auto rank = c.rank(0);
  if (!perm) {
    if (!rank) return c.give(c.node("onnx.Transpose", {c.tensor(0)}));
    perm = Ints(static_cast<size_t>(*rank));
    for (int64_t i = 0; i < *rank; ++i) (*perm)[static_cast<size_t>(i)] = *rank - 1 - i;
  }
  Ints sorted = *perm;
  std::sort(sorted.begin(), sorted.end());
  bool fits = !rank || static_cast<int64_t>(perm->size()) == *rank;
  for (size_t i = 0; i < sorted.size(); ++i) fits &= sorted[i] == static_cast<int64_t>(i);
  SPARSEBIT_CHECK(fits, InvalidModel, "perm is ", at::IntArrayRef(*perm), " for an input with ",
                  rank ? std::to_string(*rank) : "unknown", " axes");
  c.give(c.function("torch.permute", {c.tensor(0), *perm}));
}

/// Axes are an attribute before operator set 13 and an input from then on.
std::optional<Ints> read_axes(Conversion& c) {
  return c.opset() < 13 ? c.attributes().ints("axes") : c.constant_ints(1);
}

/// An order in which axes can be added or removed one by one without moving the remaining ones.
/// `rank` is the rank of the tensor that has the axes, if known.
Ints ordered_axes(const Conversion& c, Ints axes, std::optional<int64_t> rank, bool front_first) {
  SPARSEBIT_CHECK(static_cast<int64_t>(axes.size()) <= kMostAxes, InvalidModel, "axes has ",
                  axes.size(), " entries, expected at most ", kMostAxes);
  if (rank) {
    for (int64_t& axis : axes) axis = wrap_axis(axis, *rank);
  }
  const auto is_negative = [](int64_t axis) { return axis < 0; };
  const bool from_end = std::all_of(axes.begin(), axes.end(), is_negative);
  if (!from_end && std::any_of(axes.begin(), axes.end(), is_negative)) {
    c.refuse("axes are counted from both ends of an input of unknown rank");
  }
  std::sort(axes.begin(), axes.end());
  SPARSEBIT_CHECK(std::adjacent_find(axes.begin(), axes.end()) == axes.end(), InvalidModel,
                  "axes names an axis twice: ", at::IntArrayRef(axes));
  // Counted from the front, axes are added from front to back; counted from the end, the other way.
  if (front_first == from_end) std::reverse(axes.begin(), axes.end());
  return axes;
}

void convert_squeeze(Conversion& c) {
  const auto axes = read_axes(c);
  Value x = c.tensor(0);
  if (!axes && c.opset() >= 13 && c.has_input(1)) {
    return c.give(c.node("onnx.Squeeze", {x, c.tensor(1)}));
  }
  if (!axes) return c.give(c.function("torch.squeeze", {x}));
  const auto info = c.info(0);
  for (const int64_t axis : ordered_axes(c, *axes, c.rank(0), false)) {
    const int64_t size = info ? info->shape[static_cast<size_t>(axis)] : -1;
    SPARSEBIT_CHECK(size < 0 || size == 1, InvalidModel, "axis ", axis, " has size ", size,
                    ", expected 1");
    x = c.function("torch.squeeze", {x, axis});
  }
  c.give(x);
}

void convert_unsqueeze(Conversion& c) {
  const auto axes = read_axes(c);
  Value x = c.tensor(0);
  if (!axes) {
    SPARSEBIT_CHECK(c.opset() >= 13 && c.has_input(1), InvalidModel, "axes are missing");
    return c.give(c.node("onnx.Unsqueeze", {x, c.tensor(1)}));
  }
  auto rank = c.rank(0);
  if (rank) *rank += static_cast<int64_t>(axes->size());
  for (const int64_t axis : ordered_axes(c, *axes, rank, true)) {
    x = c.function("torch.unsqueeze", {x, axis});
  }
  c.give(x);
}

/// The argument of Tensor.expand() for ONNX's shape, in which 1 keeps a size; empty when it depends
/// on unknown sizes.
std::optional<List> expanded_shape(const fx::TensorInfo& x, const List& shape) {
  const size_t rank = std::max(x.shape.size(), shape.items.size());
  List sizes;
  for (size_t i = 0; i < rank; ++i) {
    const bool has_wish = i + shape.items.size() >= rank, has_size = i + x.shape.size() >= rank;
    const Value wish = has_wish ? shape.items[i + shape.items.size() - rank] : Value(1);
    SPARSEBIT_CHECK(!wish.is_int() || wish.to_int() >= 0, InvalidModel, "shape contains ",
                    wish.to_int());
    const int64_t size = has_size ? x.shape[i + x.shape.size() - rank] : 1;
    if (is_int(wish, 1)) {
      sizes.items.emplace_back(has_size ? -1 : 1);
    } else if (wish.is_int() || size == 1) {
      sizes.items.push_back(wish);
    } else if (size > 1) {
      sizes.items.emplace_back(-1);
    } else {
      return std::nullopt;
    }
  }
  return sizes;
}

void convert_expand(Conversion& c) {
  const auto shape = c.int_list(1);
  const auto info = c.info(0);
  const auto sizes = shape && info ? expanded_shape(*info, *shape) : std::nullopt;
  if (!sizes) {
    return c.give(c.node("onnx.Expand", {c.tensor(0), shape ? Value(*shape) : c.tensor(1)}));
  }
  Ints known;
  for (size_t i = 0; i < sizes->items.size(); ++i) {
    const Value& size = sizes->items[i];
    const size_t skipped = sizes->items.size() - info->shape.size();
    known.push_back(is_int(size, -1) ? info->shape[i - skipped]
                    : size.is_int()  ? size.to_int()
                                     : -1);
  }
  c.give(function_of_size(c, "torch.broadcast_to", {c.tensor(0), *sizes}, {}, known));
}

void convert_tile(Conversion& c) {
  const auto repeats = c.int_list(1);
  const auto info = c.info(0);
  if (!repeats || !info) return c.give(c.node("onnx.Tile", {c.tensor(0), c.tensor(1)}));
  SPARSEBIT_CHECK(repeats->items.size() == info->shape.size(), InvalidModel, "repeats has ",
                  repeats->items.size(), " entries for an input with ", info->shape.size(),
                  " axes");
  Ints sizes = info->shape;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Value& count = repeats->items[i];
    SPARSEBIT_CHECK(!count.is_int() || count.to_int() >= 0, InvalidModel, "repeats contains ",
                    count.to_int());
    const bool known = count.is_int() && sizes[i] >= 0;
    if (!known || __builtin_mul_overflow(sizes[i], count.to_int(), &sizes[i])) sizes[i] = -1;
  }
  c.give(function_of_size(c, "torch.tile", {c.tensor(0), *repeats}, {}, sizes));
}

void convert_depth_to_space(Conversion& c) {
  const Attributes& a = c.attributes();
  const int64_t block = a.integer("blocksize");
  const std::string mode = a.text("mode", "DCR");
  SPARSEBIT_CHECK(block > 0, InvalidModel, "blocksize is ", block);
  SPARSEBIT_CHECK(mode == "DCR" || mode == "CRD", InvalidModel, "mode is '", mode, "'");
  if (mode == "CRD") {
    return c.give(c.function("torch.nn.functional.pixel_shuffle", {c.tensor(0), block}));
  }
  c.give(c.function("onnx.DepthToSpace", {c.tensor(0), block}));
}

void convert_trilu(Conversion& c) {
  const bool upper = c.attributes().flag("upper", true);
  const auto k = c.has_input(1) ? c.constant_ints(1) : Ints{0};
  if (!k || k->size() != 1) {
    return c.give(c.node("onnx.Trilu", {c.tensor(0), c.tensor(1)}, {{"upper", int64_t{upper}}}));
  }
  c.give(c.function(upper ? "torch.triu" : "torch.tril", {c.tensor(0), k->front()}));
}

void convert_nonzero(Conversion& c) {
  c.give(c.function("torch.t", {c.function("torch.nonzero", {c.tensor(0)})}));
}

void convert_unique(Conversion& c) {
  const Attributes& a = c.attributes();
  fx::Kwargs options = {{"sorted", a.integer("sorted", 1)}};
  if (a.has("axis")) options.emplace_back("axis", a.integer("axis"));
  const Value results = c.node("onnx.Unique", {c.tensor(0)}, options);
  for (size_t i = 0; i < c.output_count(); ++i) {
    if (c.wants_output(i)) c.give(i, c.item(results, static_cast<int64_t>(i)));
  }
}

}  // namespace

void add_shape_converters(Converters& r) {
  r.add("DepthToSpace", convert_depth_to_space);
  r.add("Expand", convert_expand);
  r.add("Flatten", convert_flatten);
  r.add("NonZero", convert_nonzero);
  r.add("Reshape", convert_reshape);
  r.add("Squeeze", convert_squeeze);
  r.add("Tile", convert_tile);
  r.add("Transpose", convert_transpose);
  r.add("Trilu", convert_trilu);
  r.add("Unique", convert_unique);
  r.add("Unsqueeze", convert_unsqueeze);
}

}  // namespace sparsebit::frontends
