#include "frontends/onnx/ops/axis.h"
#include "frontends/onnx/ops/families.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <limits>

namespace sparsebit::frontends {
namespace {

using fx::List;
using fx::Value;
using Ints = std::vector<int64_t>;

void convert_concat(Conversion& c) {
  const int64_t axis = c.attributes().integer("axis");
  SPARSEBIT_CHECK(c.input_count() > 0, InvalidModel, "has no inputs, expected at least one");
  for (size_t i = 0; i < c.input_count(); ++i) c.input_name(i);  // none may be left out
  c.give(c.function("torch.cat", {List(c.tensors()), axis}));
}

/// The sizes of equal parts, the last of which may be smaller; empty when they are not known.
std::optional<List> equal_parts(const Conversion& c, int64_t axis, int64_t count) {
  const auto info = c.info(0);
  if (!info) return std::nullopt;
  const auto rank = static_cast<int64_t>(info->shape.size());
  const int64_t size = info->shape[static_cast<size_t>(wrap_axis(axis, rank))];
  if (size < 0) return std::nullopt;
  const int64_t part = (size + count - 1) / count;
  SPARSEBIT_CHECK((count - 1) * part <= size, InvalidModel, size, " elements cannot be split into ",
                  count, " equal parts");
  List sizes;
  for (int64_t i = 0; i < count; ++i)
    sizes.items.emplace_back(i + 1 < count ? part : size - i * part);
  return sizes;
}

void convert_split(Conversion& c) {
  const int64_t axis = c.attributes().integer("axis", 0);
  const auto count = static_cast<int64_t>(c.output_count());
  SPARSEBIT_CHECK(c.attributes().integer("num_outputs", count) == count, InvalidModel,
                  "num_outputs does not match its ", count, " results");
  const auto sizes_attribute = c.opset() < 13 ? c.attributes().ints("split") : std::nullopt;
  auto sizes = sizes_attribute ? Value(*sizes_attribute).get<List>() : c.int_list(1);
  Value parts;
  if (!sizes && c.has_input(1)) {
    parts = c.node("onnx.Split", {c.tensor(0), c.tensor(1)}, {{"axis", axis}});
  } else {
    if (!sizes) sizes = equal_parts(c, axis, count);
    SPARSEBIT_CHECK(!sizes || static_cast<int64_t>(sizes->items.size()) == count, InvalidModel,
                    "split has ", sizes->items.size(), " entries for ", count, " results");
    parts = sizes ? c.function("torch.split", {c.tensor(0), *sizes, axis})
                  : c.function("torch.chunk", {c.tensor(0), count, axis});
  }
  for (size_t i = 0; i < c.output_count(); ++i) {
    if (c.wants_output(i)) c.give(i, c.item(parts, static_cast<int64_t>(i)));
  }
}

/// The inputs of Slice, as far as they are known during import.
struct Bounds {
  std::optional<List> starts, ends;
  std::optional<Ints> axes, steps;

  bool are_known() const { return starts && ends && axes && steps; }
};

Bounds read_bounds(Conversion& c) {
  Bounds b;
  if (c.opset() < 10) {
    const Attributes& a = c.attributes();
    b.starts = Value(a.ints("starts", {})).get<List>();
    b.ends = Value(a.ints("ends", {})).get<List>();
    b.axes = a.ints("axes");
  } else {
    b.starts = c.int_list(1);
    b.ends = c.int_list(2);
    b.axes = c.constant_ints(3);
    b.steps = c.constant_ints(4);
  }
  if (!b.starts || !b.ends) return b;
  const size_t count = b.starts->items.size();
  const bool given = c.opset() >= 10;
  if (!b.steps && !(given && c.has_input(4))) b.steps = Ints(count, 1);
  if (!b.axes && !(given && c.has_input(3))) {
    b.axes.emplace();
    for (size_t i = 0; i < count; ++i) b.axes->push_back(static_cast<int64_t>(i));
  }
  if (!b.are_known()) return b;
  SPARSEBIT_CHECK(
      b.ends->items.size() == count && b.axes->size() == count && b.steps->size() == count,
      InvalidModel, "starts, ends, axes and steps have ", count, ", ", b.ends->items.size(), ", ",
      b.axes->size(), " and ", b.steps->size(), " entries");
  return b;
}

/// Whether a slice with a negative step reverses the whole axis.
bool is_flip(const Value& start, const Value& end, int64_t step, int64_t size) {
  constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
  if (step != -1 || !start.is_int() || !end.is_int()) return false;
  const bool from_last = start.to_int() == -1 || start.to_int() >= (size < 0 ? kFar : size - 1);
  return from_last && end.to_int() < (size < 0 ? -kFar : -size);
}

/// A slice in which bounds that cut nothing off are None, as in Python code.
fx::Slice slice_of(const Value& start, const Value& end, int64_t step) {
  constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
  const bool from_first = start.is_int() && (start.to_int() == 0 || start.to_int() < -kFar);
  const bool to_last = end.is_int() && end.to_int() >= kFar;
  return {from_first ? Value() : start, to_last ? Value() : end, step == 1 ? Value() : Value(step)};
}

/// Writes Slice as Python slices and torch.flip; false when torch cannot express it.
bool slice_as_items(Conversion& c, const Bounds& b) {
  const auto info = c.info(0);
  const int64_t rank = info ? static_cast<int64_t>(info->shape.size()) : -1;
  std::vector<Value> index;
  Ints flipped;
  for (size_t i = 0; i < b.axes->size(); ++i) {
    int64_t axis = (*b.axes)[i];
    if (rank < 0 && axis < 0) return false;
    if (rank >= 0) axis = wrap_axis(axis, rank);
    if (axis > 64) return false;
    const Value &start = b.starts->items[i], &end = b.ends->items[i];
    const int64_t step = (*b.steps)[i];
    SPARSEBIT_CHECK(step != 0, InvalidModel, "steps contains 0");
    const auto position = static_cast<size_t>(axis);
    if (step < 0) {
      if (!is_flip(start, end, step, info ? info->shape[position] : -1)) return false;
      flipped.push_back(axis);
      continue;
    }
    if (index.size() <= position) index.resize(position + 1, fx::Slice());
    index[position] = slice_of(start, end, step);
  }
  Value y = c.tensor(0);
  if (!index.empty()) y = c.function("operator.getitem", {y, fx::Tuple(std::move(index))});
  if (!flipped.empty()) y = c.function("torch.flip", {y, flipped});
  c.give(y);
  return true;
}

void convert_slice(Conversion& c) {
  const Bounds b = read_bounds(c);
  if (b.are_known() && slice_as_items(c, b)) return;
  const auto bound = [&c](size_t input, const std::optional<List>& known) {
    return known ? Value(*known) : c.tensor(input);
  };
  const auto ints = [&c](size_t input, const std::optional<Ints>& known) {
    return known ? Value(*known) : c.tensor(input);
  };
  c.give(c.function("onnx.Slice", {c.tensor(0), bound(1, b.starts), bound(2, b.ends),
                                   ints(3, b.axes), ints(4, b.steps)}));
}

}  // namespace

void add_joining_converters(Converters& r) {
  r.add("Concat", convert_concat);
  r.add("Slice", convert_slice);
  r.add("Split", convert_split);
}

}  // namespace sparsebit::frontends
