#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

/// The tensors, cast to their common type as cat and stack do.
std::vector<OnnxTensor> common_type(Call& c, std::string_view name) {
  const std::vector<NodeResult> items = c.items(name);
  if (items.empty()) c.unsupported("the list of tensors to join is empty");
  at::ScalarType dtype = dtype_of(items[0]);
  for (const NodeResult& item : items) dtype = result_type(OnnxTensor{"", dtype, Shape{1}}, item);
  std::vector<OnnxTensor> tensors;
  for (const NodeResult& item : items) tensors.push_back(c.operand(item, dtype));
  return tensors;
}

/// torch's cat skips empty tensors of one dimension, whatever the others have.
NodeResult cat(Call& c) {
  std::vector<OnnxTensor> tensors = common_type(c, "tensors");
  if (tensors.size() > 1) {
    std::vector<OnnxTensor> kept;
    for (const OnnxTensor& t : tensors) {
      if (!(t.shape && t.shape == Shape{0})) kept.push_back(t);
    }
    if (!kept.empty()) tensors = kept;
  }
  return c.w.concat(tensors, c.integer("dim"));
}

OnnxTensor stack(Call& c, const std::vector<OnnxTensor>& tensors, int64_t dim) {
  std::vector<OnnxTensor> rows;
  const int64_t rank = tensors[0].rank() + 1, axis = dim < 0 ? dim + rank : dim;
  for (const OnnxTensor& t : tensors) rows.push_back(c.w.unsqueeze(t, {axis}));
  return c.w.concat(rows, axis);
}

/// Adds dimensions up to at least `rank`: [n] becomes [1, n] for vstack.
std::vector<OnnxTensor> at_least(Call& c, std::vector<OnnxTensor> tensors, int64_t rank) {
  for (OnnxTensor& t : tensors) {
    while (t.rank() < rank) t = c.w.unsqueeze(t, {0});
  }
  return tensors;
}

NodeResult hstack(Call& c) {
  const std::vector<OnnxTensor> tensors = at_least(c, common_type(c, "tensors"), 1);
  return c.w.concat(tensors, tensors[0].rank() == 1 ? 0 : 1);
}

NodeResult as_tuple(std::vector<OnnxTensor> parts) {
  std::vector<NodeResult> items(parts.begin(), parts.end());
  return NodeResult::sequence(std::move(items));
}

int64_t fixed_size(Call& c, const OnnxTensor& x, int64_t dim) {
  const int64_t size = x.size(dim);
  if (size < 0)
    c.unsupported(c10::str("the size of dimension ", dim, ", which is split, is not fixed"));
  return size;
}

NodeResult split_sizes(Call& c, const OnnxTensor& x, const Ints& sizes, int64_t dim) {
  if (sizes.size() == 1) return NodeResult::sequence({x});
  return as_tuple(c.w.split(x, sizes, dim));
}

Ints equal_parts(int64_t size, int64_t part) {
  Ints sizes;
  if (size == 0) return {0};
  for (int64_t start = 0; start < size; start += part)
    sizes.push_back(std::min(part, size - start));
  return sizes;
}

NodeResult split(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t dim = c.integer("dim");
  const fx::Value& given = c.args()["split_size_or_sections"];
  const bool list = given.is_sequence();
  const bool open = list && x.size(dim) < 0;
  if (open || (list && !given.contains_node()))
    return split_sizes(c, x, c.ints("split_size_or_sections"), dim);
  return split_sizes(c, x, equal_parts(fixed_size(c, x, dim), c.integer("split_size_or_sections")),
                     dim);
}

NodeResult chunk(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t dim = c.integer("dim"), chunks = c.integer("chunks"), size = fixed_size(c, x, dim);
  const int64_t part = std::max<int64_t>(1, (size + chunks - 1) / chunks);
  return split_sizes(c, x, equal_parts(size, part), dim);
}

/// Splits at positions that the graph computes; only their number is known.
NodeResult split_at(Call& c, const OnnxTensor& x, int64_t dim, const OnnxTensor& places) {
  const int64_t count = places.size(0);
  if (count < 0) c.unsupported("the number of parts to split into is not fixed");
  const OnnxTensor first = c.w.ints({0}), last = c.w.ints({std::numeric_limits<int64_t>::max()});
  std::vector<NodeResult> parts;
  OnnxTensor start = first;
  for (int64_t i = 0; i <= count; ++i) {
    const OnnxTensor stop = i == count ? last : c.w.slice(places, 0, i, i + 1);
    parts.emplace_back(c.w.slice(x, dim, start, stop));
    start = stop;
  }
  return NodeResult::sequence(std::move(parts));
}

NodeResult tensor_split(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t dim = c.integer("dim"), size = fixed_size(c, x, dim);
  const fx::Value& where = c.args()["indices_or_sections"];
  if (where.contains_node()) return split_at(c, x, dim, c.int_vector("indices_or_sections"));
  Ints bounds;
  if (where.is_int() || (where.is_tensor() && where.tensor().dim() == 0)) {
    const int64_t sections = where.to_int();
    for (int64_t i = 1; i < sections; ++i)
      bounds.push_back(i * (size / sections) + std::min(i, size % sections));
  } else if (where.is_tensor()) {
    const at::Tensor list = where.tensor().to(at::kLong).contiguous();
    bounds.assign(list.data_ptr<int64_t>(), list.data_ptr<int64_t>() + list.numel());
  } else {
    bounds = c.ints("indices_or_sections");
  }
  std::vector<NodeResult> parts;
  int64_t start = 0;
  bounds.push_back(size);
  for (const int64_t bound : bounds) {
    const int64_t stop = std::clamp<int64_t>(bound < 0 ? bound + size : bound, 0, size);
    parts.emplace_back(c.w.slice(x, dim, start, std::max(start, stop)));
    start = stop;
  }
  return NodeResult::sequence(std::move(parts));
}

NodeResult unbind(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t dim = x.axis(c.integer("dim")), size = fixed_size(c, x, dim);
  std::vector<NodeResult> parts;
  for (const OnnxTensor& part : c.w.split(x, Ints(static_cast<size_t>(size), 1), dim))
    parts.emplace_back(c.w.squeeze(part, {dim}));
  return NodeResult::sequence(std::move(parts));
}

/// -1 in a size keeps the input's own; ONNX writes 1 for that.
OnnxTensor expanded_shape(Call& c, std::string_view name) {
  std::vector<NodeResult> sizes = c.items(name);
  for (NodeResult& size : sizes) {
    if (size.is_plain() && size.plain.to_int() == -1) size = fx::Value(1);
  }
  return c.int_vector(NodeResult::sequence(std::move(sizes)));
}

NodeResult expand(Call& c) { return c.w.expand(c.tensor("input"), expanded_shape(c, "size")); }

NodeResult broadcast_tensors(Call& c) {
  const std::vector<OnnxTensor> tensors = c.tensors("tensors");
  std::optional<Shape> common = Shape{};
  for (const OnnxTensor& t : tensors) common = broadcast(common, t.shape);
  OnnxTensor shape;
  const bool fixed = common && std::find(common->begin(), common->end(), -1) == common->end();
  if (fixed) {
    shape = c.w.ints(*common);
  } else {  // the shape of the sum of all
    OnnxTensor sum = c.w.cast(tensors[0], at::kFloat);
    for (size_t i = 1; i < tensors.size(); ++i)
      sum = c.w.add(sum, c.w.cast(tensors[i], at::kFloat));
    sum.shape = common;
    shape = c.w.shape_of(sum);
  }
  std::vector<NodeResult> results;
  for (const OnnxTensor& t : tensors) {
    OnnxTensor wide = c.w.expand(t, shape);
    wide.shape = common;
    results.emplace_back(wide);
  }
  return NodeResult::sequence(std::move(results));
}

/// Both take one factor per dimension; repeat adds dimensions in front, tile adds factors.
NodeResult repeat(Call& c, std::string_view name) {
  OnnxTensor x = c.tensor("input");
  std::vector<NodeResult> factors = c.items(name);
  while (static_cast<int64_t>(factors.size()) < x.rank())
    factors.insert(factors.begin(), NodeResult(fx::Value(1)));
  while (x.rank() < static_cast<int64_t>(factors.size())) x = c.w.unsqueeze(x, {0});
  if (factors.empty()) return x;
  return c.w.tile(x, c.int_vector(NodeResult::sequence(std::move(factors))));
}

}  // namespace

void add_joining_converters(Converters& table) {
  table.add("cat", cat);
  table.add("stack", [](Call& c) -> NodeResult {
    return stack(c, common_type(c, "tensors"), c.integer("dim"));
  });
  table.add("hstack", hstack);
  table.add("vstack", [](Call& c) -> NodeResult {
    return c.w.concat(at_least(c, common_type(c, "tensors"), 2), 0);
  });
  table.add("split", split);
  table.add("chunk", chunk);
  table.add("tensor_split", tensor_split);
  table.add("unbind", unbind);
  table.add("expand", expand);
  table.add("broadcast_to", expand);
  table.add("expand_as", [](Call& c) -> NodeResult {
    return c.w.expand(c.tensor("input"), c.w.shape_of(c.tensor("other")));
  });
  table.add("broadcast_tensors", broadcast_tensors);
  table.add("repeat", [](Call& c) { return repeat(c, "repeats"); });
  table.add("tile", [](Call& c) { return repeat(c, "dims"); });
}

}  // namespace sparsebit::exports
