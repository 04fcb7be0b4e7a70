#include "export/ops/families.h"
#include "export/ops/index.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

/// The target shape of a Reshape. A single unknown size becomes -1 instead of being computed.
OnnxTensor target_shape(Call& c, const NodeResult& shape) {
  if (!shape.is_sequence()) return c.int_vector(shape);
  std::vector<NodeResult> sizes = shape.items;
  int64_t open = 0, inferred = 0;
  for (const NodeResult& size : sizes) {
    if (!size.is_plain()) ++open;
    if (size.is_plain() && size.plain.to_int() < 0) ++inferred;
  }
  if (open == 1 && inferred == 0) {
    for (NodeResult& size : sizes) {
      if (!size.is_plain()) size = fx::Value(-1);
    }
  }
  return c.int_vector(NodeResult::sequence(std::move(sizes)));
}

/// A size 0 means "as the input" to Reshape; torch means 0. Only an empty tensor can have it.
NodeResult reshape(Call& c, std::string_view argument) {
  const OnnxTensor x = c.tensor("input");
  const NodeResult shape = c.val(argument);
  const bool single = shape.is_plain() && shape.plain.is_sequence() &&
                      shape.plain.items().size() == 1 &&
                      shape.plain.items()[0].is<at::ScalarType>();
  if (single) c.unsupported("Tensor.view(dtype) has no ONNX form");
  return c.w.reshape(x, target_shape(c, shape));
}

NodeResult reshape_like(Call& c) {
  const OnnxTensor x = c.tensor("input"), other = c.tensor("other");
  return c.w.reshape(x, c.w.shape_of(other));
}

/// The target shape is the sizes before, one for the joined axes, and the sizes after.
NodeResult flatten(Call& c) {
  const OnnxTensor x = c.tensor("input");
  if (x.rank() == 0) return c.w.reshape(x, Shape{1});
  const int64_t first = x.axis(c.integer("start_dim")), last = x.axis(c.integer("end_dim"));
  if (first == last) return x;
  if (first == 1 && last == x.rank() - 1) {
    Shape shape = {x.size(0), 1};
    for (int64_t i = 1; i < x.rank(); ++i)
      shape[1] = shape[1] < 0 || x.size(i) < 0 ? -1 : shape[1] * x.size(i);
    return c.w.op("Flatten", {x}, {{"axis", 1}}, x.dtype, shape);
  }
  const auto after = x.shape->begin() + last + 1;
  const bool fixed_after = std::find(after, x.shape->end(), -1) == x.shape->end();
  if (fixed_after) {
    Shape shape(static_cast<size_t>(first), 0);
    shape.push_back(-1);
    shape.insert(shape.end(), after, x.shape->end());
    return c.w.reshape(x, shape);
  }
  std::vector<OnnxTensor> sizes;
  for (int64_t i = 0; i < first; ++i) sizes.push_back(c.w.size_of(x, i));
  sizes.push_back(c.w.ints({-1}));
  for (int64_t i = last + 1; i < x.rank(); ++i) sizes.push_back(c.w.size_of(x, i));
  return c.w.reshape(x, c.w.concat(sizes, 0));
}

NodeResult unflatten(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t dim = x.axis(c.integer("dim"));
  std::vector<OnnxTensor> sizes;
  for (int64_t i = 0; i < x.rank(); ++i)
    sizes.push_back(i == dim ? c.int_vector("unflattened_size") : c.w.size_of(x, i));
  const bool fixed = std::all_of(sizes.begin(), sizes.end(),
                                 [](const OnnxTensor& s) { return s.constant.defined(); });
  if (!fixed) return c.w.reshape(x, c.w.concat(sizes, 0));
  std::vector<at::Tensor> parts;
  for (const OnnxTensor& size : sizes) parts.push_back(size.constant);
  return c.w.reshape(x, c.w.constant(at::cat(parts)));
}

NodeResult squeeze(Call& c) {
  const OnnxTensor x = c.tensor("input");
  Ints axes;
  if (!c.is_none("dim")) {
    if (x.rank() == 0) return x;
    const int64_t dim = x.axis(c.integer("dim"));
    if (x.size(dim) < 0) return x;  // dynamic sizes are not 1 in the trial runs, see find_shapes()
    if (x.size(dim) == 1) axes.push_back(dim);
  } else {
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (x.size(i) == 1) axes.push_back(i);
    }
  }
  return c.w.squeeze(x, axes);
}

NodeResult unsqueeze(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t dim = c.integer("dim");
  return c.w.unsqueeze(x, {dim < 0 ? dim + x.rank() + 1 : dim});
}

NodeResult permute(Call& c) { return c.w.transpose(c.tensor("input"), c.ints("dims")); }

NodeResult movedim(Call& c) {
  const OnnxTensor x = c.tensor("input");
  Ints source = c.ints("source"), destination = c.ints("destination");
  Ints order(static_cast<size_t>(x.rank()), -1), rest;
  for (size_t i = 0; i < source.size(); ++i)
    order[static_cast<size_t>(x.axis(destination[i]))] = source[i] = x.axis(source[i]);
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (std::find(source.begin(), source.end(), i) == source.end()) rest.push_back(i);
  }
  auto next = rest.begin();
  for (int64_t& axis : order) {
    if (axis < 0) axis = *next++;
  }
  return c.w.transpose(x, order);
}

/// torch.roll along one axis.
OnnxTensor roll_axis(Call& c, const OnnxTensor& x, int64_t axis, int64_t shift) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  const int64_t size = x.size(axis);
  if (size == 0) return x;
  if (size > 0) shift = ((shift % size) + size) % size;
  if (shift == 0) return x;
  return c.w.concat({c.w.slice(x, axis, -shift, kEnd), c.w.slice(x, axis, 0, -shift)}, axis);
}

NodeResult roll(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const Ints shifts = c.ints("shifts");
  const Ints dims = c.args().optional_ints("dims").value_or(Ints{});
  if (dims.empty()) {
    const OnnxTensor flat = roll_axis(c, c.w.reshape(x, Shape{-1}), 0, shifts.at(0));
    return c.w.reshape(flat, c.w.shape_of(x));
  }
  OnnxTensor y = x;
  for (size_t i = 0; i < dims.size(); ++i) y = roll_axis(c, y, x.axis(dims[i]), shifts[i]);
  return y;
}

OnnxTensor flip_all(Call& c, OnnxTensor x, const Ints& dims) {
  for (const int64_t dim : dims) x = c.w.flip(x, x.axis(dim));
  return x;
}

NodeResult rot90(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const Ints dims = c.ints("dims");
  switch (((c.integer("k") % 4) + 4) % 4) {
    case 1:
      return c.w.swap(flip_all(c, x, {dims[1]}), dims[0], dims[1]);
    case 2:
      return flip_all(c, x, dims);
    case 3:
      return c.w.swap(flip_all(c, x, {dims[0]}), dims[0], dims[1]);
    default:
      return x;
  }
}

NodeResult channel_shuffle(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t groups = c.integer("groups"), channels = x.size(1);
  if (channels < 0) c.unsupported("the number of channels is not fixed");
  GraphWriter& w = c.w;
  const OnnxTensor grouped = w.reshape(x, Shape{0, groups, channels / groups, -1});
  const OnnxTensor mixed = w.transpose(grouped, {0, 2, 1, 3});
  return w.reshape(mixed, w.shape_of(x));
}

void add_rearrangements(Converters& table) {
  table.add("transpose", [](Call& c) -> NodeResult {
    return c.w.swap(c.tensor("input"), c.integer("dim0"), c.integer("dim1"));
  });
  table.add("t", [](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    return x.rank() < 2 ? x : c.w.swap(x, 0, 1);
  });
  table.add("permute", permute);
  table.add("movedim", movedim);
  table.add("roll", roll);
  table.add("flip",
            [](Call& c) -> NodeResult { return flip_all(c, c.tensor("input"), c.ints("dims")); });
  table.add("fliplr", [](Call& c) -> NodeResult { return c.w.flip(c.tensor("input"), 1); });
  table.add("flipud", [](Call& c) -> NodeResult { return c.w.flip(c.tensor("input"), 0); });
  table.add("rot90", rot90);
  table.add("channel_shuffle", channel_shuffle);
}

}  // namespace

void add_shape_converters(Converters& table) {
  table.add("view", [](Call& c) { return reshape(c, "shape"); });
  table.add("reshape", [](Call& c) { return reshape(c, "shape"); });
  table.add("view_as", reshape_like);
  table.add("reshape_as", reshape_like);
  table.add("flatten", flatten);
  table.add("unflatten", unflatten);
  table.add("ravel",
            [](Call& c) -> NodeResult { return c.w.reshape(c.tensor("input"), Shape{-1}); });
  table.add("squeeze", squeeze);
  table.add("unsqueeze", unsqueeze);
  table.add("identity", [](Call& c) { return c.val("input"); });
  add_rearrangements(table);
}

}  // namespace sparsebit::exports
