#include "export/ops/elementwise.h"
#include "export/ops/families.h"
#include "export/ops/index.h"

#include <ATen/ATen.h>

#include <limits>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

/// The part of the input that the index covers: torch's gather and scatter ignore the rest.
OnnxTensor covered(Call& c, OnnxTensor x, const OnnxTensor& index, int64_t dim) {
  for (int64_t i = 0; i < x.rank(); ++i) {
    const bool same = x.size(i) == index.size(i) && x.size(i) >= 0;
    if (i != dim && !same) x = c.w.slice(x, i, c.w.ints({0}), c.w.size_of(index, i));
  }
  return x;
}

NodeResult gather(Call& c) {
  const OnnxTensor x = c.tensor("input"), index = c.w.cast(c.tensor("index"), at::kLong);
  const int64_t dim = x.axis(c.integer("dim"));
  if (x.rank() == 0) return x;
  return c.w.gather_elements(covered(c, x, index, dim), index, dim);
}

/// torch.take: positions in the flattened tensor; negative ones count from the end.
NodeResult take(Call& c) {
  return c.w.gather(c.w.reshape(c.tensor("input"), Shape{-1}),
                    c.w.cast(c.tensor("index"), at::kLong), 0);
}

/// Input and indices broadcast against each other, except along `dim`.
NodeResult take_along_dim(Call& c) {
  GraphWriter& w = c.w;
  OnnxTensor x = c.tensor("input"), index = c.tensor("indices");
  if (c.is_none("dim"))
    return w.gather_elements(w.reshape(x, Shape{-1}), w.reshape(index, Shape{-1}), 0);
  const int64_t dim = x.axis(c.integer("dim"));
  std::vector<OnnxTensor> x_sizes, index_sizes;
  for (int64_t i = 0; i < x.rank(); ++i) {
    const OnnxTensor a = w.size_of(x, i), b = w.size_of(index, i);
    const OnnxTensor common = x.size(i) == 1 ? b : a;
    x_sizes.push_back(i == dim ? a : common);
    index_sizes.push_back(i == dim ? b : common);
  }
  x = w.expand(x, w.concat(x_sizes, 0));
  index = w.expand(index, w.concat(index_sizes, 0));
  return w.gather_elements(x, index, dim);
}

NodeResult masked_select(Call& c) {
  GraphWriter& w = c.w;
  const OnnxTensor x = c.tensor("input"), mask = c.tensor("mask");
  const std::optional<Shape> common = broadcast(x.shape, mask.shape);
  // Where() broadcasts both for us.
  OnnxTensor wide_mask =
      w.logic("And", mask, w.cast(w.filled(w.shape_of(x), 1, at::kBool), at::kBool));
  wide_mask.shape = common;
  OnnxTensor wide_x = w.expand(x, w.shape_of(wide_mask));
  const OnnxTensor flat = w.reshape(wide_mask, Shape{-1});
  return w.op("Compress", {w.reshape(wide_x, Shape{-1}), flat}, {{"axis", 0}}, x.dtype, Shape{-1});
}

NodeResult nonzero(Call& c) {
  GraphWriter& w = c.w;
  const OnnxTensor x = c.tensor("input"), truths = w.cast(x, at::kBool);
  if (x.rank() == 0) c.unsupported("nonzero of a 0-dim tensor has no ONNX form");
  const OnnxTensor positions = w.nonzero(truths);
  if (!c.flag("as_tuple")) return w.transpose(positions, {1, 0});
  std::vector<NodeResult> items;
  for (int64_t i = 0; i < x.rank(); ++i)
    items.emplace_back(w.gather(positions, w.scalar(i, at::kLong), 0));
  return NodeResult::sequence(std::move(items));
}

/// repeat_interleave with one count for all elements.
OnnxTensor repeat_evenly(Call& c, const OnnxTensor& x, int64_t dim, const OnnxTensor& count) {
  GraphWriter& w = c.w;
  const OnnxTensor index =
      w.range(w.scalar(0, at::kLong), w.squeeze(w.mul(w.size_of(x, dim), count), {0}),
              w.scalar(1, at::kLong));
  const OnnxTensor source = w.div(index, w.squeeze(count, {0}));
  return w.gather(x, source, dim);
}

/// repeat_interleave with a count per element: output i is the first element whose cumulative count
/// is larger than i.
OnnxTensor repeat_unevenly(Call& c, const OnnxTensor& x, int64_t dim, const OnnxTensor& counts) {
  GraphWriter& w = c.w;
  const OnnxTensor ends = w.cumsum(w.cast(counts, at::kLong), 0);
  const OnnxTensor total =
      w.squeeze(w.slice(ends, 0, -1, std::numeric_limits<int64_t>::max()), {0});
  const OnnxTensor index = w.range(w.scalar(0, at::kLong), total, w.scalar(1, at::kLong));
  const OnnxTensor passed =
      w.compare("LessOrEqual", w.unsqueeze(ends, {0}), w.unsqueeze(index, {1}));
  const OnnxTensor source = w.reduce("ReduceSum", w.cast(passed, at::kLong), {1}, false);
  return w.gather(x, source, dim);
}

NodeResult repeat_interleave(Call& c) {
  GraphWriter& w = c.w;
  OnnxTensor x = c.tensor("input");
  if (c.is_none("repeats")) {  // the input holds the counts of 0, 1, 2, ...
    const OnnxTensor line =
        w.range(w.scalar(0, at::kLong), w.squeeze(w.size_of(x, 0), {0}), w.scalar(1, at::kLong));
    return w.cast(repeat_unevenly(c, line, 0, x), x.dtype);
  }
  const bool flat = c.is_none("dim");
  if (flat) x = w.reshape(x, Shape{-1});
  const int64_t dim = flat ? 0 : x.axis(c.integer("dim"));
  const NodeResult repeats = c.val("repeats");
  const bool one = !holds_tensor(repeats) ||
                   (c.sym(repeats).fixed() && c10::multiply_integers(*c.sym(repeats).shape) == 1);
  if (one) return repeat_evenly(c, x, dim, c.int_vector(repeats));
  return repeat_unevenly(c, x, dim, c.sym(repeats));
}

/// The values to scatter: the part of `src` that the index covers, or one number for all.
OnnxTensor updates(Call& c, const OnnxTensor& x, const OnnxTensor& index, const char* name) {
  const NodeResult src = c.val(name);
  if (!holds_tensor(src)) return c.w.expand(c.scalar(src, x.dtype), c.w.shape_of(index));
  return covered(c, c.w.cast(c.sym(src), x.dtype), index, -1);
}

NodeResult scatter(Call& c) {
  const OnnxTensor x = c.tensor("input"), index = c.w.cast(c.tensor("index"), at::kLong);
  return c.w.scatter_elements(x, index, updates(c, x, index, "src"), c.integer("dim"));
}

/// Adds at positions that may repeat. Before opset 16, by comparing every target with every source.
OnnxTensor add_at(Call& c, const OnnxTensor& x, const OnnxTensor& positions,
                  const OnnxTensor& values) {
  GraphWriter& w = c.w;
  if (w.opset() >= 16) return write_positions(c, x, positions, values, "add");
  const OnnxTensor target = w.unsqueeze(w.reshape(flat_positions(c, x), Shape{-1}), {1});
  const OnnxTensor source = w.unsqueeze(w.reshape(positions, Shape{-1}), {0});
  const OnnxTensor hit = w.cast(w.compare("Equal", target, source), x.dtype);
  const OnnxTensor spread = w.expand(values, w.shape_of(positions));
  const OnnxTensor sums = w.matmul(hit, w.reshape(spread, Shape{-1, 1}));
  OnnxTensor added = w.reshape(sums, w.shape_of(x));
  added.shape = x.shape;
  return w.add(x, added);
}

NodeResult scatter_add(Call& c) {
  const OnnxTensor x = c.tensor("input"), index = c.w.cast(c.tensor("index"), at::kLong);
  const OnnxTensor src = updates(c, x, index, "src");
  const int64_t dim = x.axis(c.integer("dim"));
  if (c.w.opset() >= 16) return c.w.scatter_elements(x, index, src, dim, "add");
  const OnnxTensor positions =
      c.w.gather_elements(covered(c, flat_positions(c, x), index, dim), index, dim);
  return add_at(c, x, positions, src);
}

NodeResult index_add(Call& c) {
  const OnnxTensor x = c.tensor("input"), index = c.w.cast(c.tensor("index"), at::kLong);
  const int64_t dim = x.axis(c.integer("dim"));
  const NodeResult alpha = c.val("alpha");
  OnnxTensor source = c.tensor("source");
  const bool one = alpha.is_plain() && alpha.plain.to_double() == 1.0;
  if (!one) source = c.w.mul(source, c.scalar(alpha, source.dtype));
  const OnnxTensor line = index.rank() == 0 ? c.w.unsqueeze(index, {0}) : index;
  return add_at(c, x, c.w.gather(flat_positions(c, x), line, dim), source);
}

NodeResult index_put(Call& c) {
  const OnnxTensor x = c.tensor("input"), values = c.w.cast(c.tensor("values"), x.dtype);
  std::vector<fx::Value> items;
  for (const fx::Value& item : c.args()["indices"].items())
    items.push_back(item.is_none() ? fx::Value(fx::Slice()) : item);
  const OnnxTensor positions = read_index(c, flat_positions(c, x), fx::Tuple(std::move(items)));
  return c.flag("accumulate") ? add_at(c, x, positions, values)
                              : write_positions(c, x, positions, values);
}

NodeResult masked_fill(Call& c) {
  const OnnxTensor x = c.tensor("input"), mask = c.w.cast(c.tensor("mask"), at::kBool);
  return c.w.where(mask, c.operand(c.val("value"), x.dtype), x);
}

NodeResult narrow(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const OnnxTensor start = c.int_vector("start"), length = c.int_vector("length");
  const bool known = start.constant.defined() && length.constant.defined();
  if (!known) return c.w.slice(x, c.integer("dim"), start, c.w.add(start, length));
  int64_t first = start.constant.item<int64_t>();
  if (first < 0 && x.size(c.integer("dim")) >= 0) first += x.size(c.integer("dim"));
  return c.w.slice(x, c.integer("dim"), first, first + length.constant.item<int64_t>());
}

}  // namespace

void add_indexing_converters(Converters& table) {
  table.add("index_select", [](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input"), index = c.w.cast(c.tensor("index"), at::kLong);
    if (x.rank() == 0) return x;
    const OnnxTensor line = index.rank() == 0 ? c.w.unsqueeze(index, {0}) : index;
    return c.w.gather(x, line, c.integer("dim"));
  });
  table.add("gather", gather);
  table.add("take", take);
  table.add("take_along_dim", take_along_dim);
  table.add("masked_select", masked_select);
  table.add("nonzero", nonzero);
  table.add("repeat_interleave", repeat_interleave);
  table.add("scatter", scatter);
  table.add("scatter_add", scatter_add);
  table.add("index_add", index_add);
  table.add("index_put", index_put);
  table.add("masked_fill", masked_fill);
  table.add("narrow", narrow);
  table.add("select", [](Call& c) -> NodeResult {
    return c.w.gather(c.tensor("input"), c.scalar(c.val("index"), at::kLong), c.integer("dim"));
  });
}

}  // namespace sparsebit::exports
