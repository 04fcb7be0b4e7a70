#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {
namespace {

/// TopK of a dimension: values in the input's type, and their positions.
std::vector<OnnxTensor> best(Call& c, const OnnxTensor& x, const OnnxTensor& count, int64_t dim,
                             bool largest) {
  std::vector<OnnxTensor> found = c.w.topk(c.w.cast(x, computable(x.dtype)), count, dim, largest);
  found[0] = c.w.cast(found[0], x.dtype);
  return found;
}

std::vector<OnnxTensor> sorted(Call& c) {
  const OnnxTensor x = c.tensor("input");
  if (x.rank() == 0) return {x, c.w.filled(c.w.ints({}), 0, at::kLong)};
  const int64_t dim = c.integer("dim");
  return best(c, x, c.w.size_of(x, dim), dim, c.flag("descending"));
}

NodeResult topk(Call& c) {
  const std::vector<OnnxTensor> found =
      best(c, c.tensor("input"), c.int_vector("k"), c.integer("dim"), c.flag("largest"));
  return NodeResult::sequence({found[0], found[1]});
}

/// torch.median: for even sizes, the lower of the two middle elements.
NodeResult median(Call& c) {
  GraphWriter& w = c.w;
  OnnxTensor x = c.tensor("input");
  const bool all = c.is_none("dim");
  if (x.rank() == 0) {
    if (all) return x;
    return NodeResult::sequence({x, w.filled(w.ints({}), 0, at::kLong)});
  }
  if (all) x = w.reshape(x, Shape{-1});
  const int64_t dim = all ? 0 : x.axis(c.integer("dim")), size = x.size(dim);
  if (size < 0) c.unsupported("the median needs a dimension of fixed size");
  const std::vector<OnnxTensor> low = best(c, x, w.ints({(size + 1) / 2}), dim, false);
  const bool keep = !all && c.flag("keepdim");
  const auto last = [&](const OnnxTensor& y) {
    const OnnxTensor middle = w.slice(y, dim, (size - 1) / 2, (size + 1) / 2);
    return keep ? middle : w.squeeze(middle, {dim});
  };
  if (all) return last(low[0]);
  return NodeResult::sequence({last(low[0]), last(low[1])});
}

/// searchsorted: the number of boundaries smaller than each value (`right`: not larger).
OnnxTensor count_below(Call& c, const OnnxTensor& boundaries, const OnnxTensor& values, bool right,
                       bool out_int32) {
  GraphWriter& w = c.w;
  const at::ScalarType dtype = at::promote_types(boundaries.dtype, values.dtype);
  const OnnxTensor line = w.cast(boundaries, computable(dtype));
  const OnnxTensor x = w.unsqueeze(w.cast(values, computable(dtype)), {-1});
  const OnnxTensor below = w.compare(right ? "LessOrEqual" : "Less", line, x);
  const OnnxTensor count = w.reduce("ReduceSum", w.cast(below, at::kLong), {-1}, false);
  return w.cast(count, out_int32 ? at::kInt : at::kLong);
}

NodeResult searchsorted(Call& c) {
  GraphWriter& w = c.w;
  const bool right = c.flag("right") || (!c.is_none("side") && c.text("side") == "right");
  OnnxTensor sequence = c.tensor("sorted_sequence");
  if (!c.is_none("sorter")) sequence = w.gather_elements(sequence, c.tensor("sorter"), -1);
  const NodeResult given = c.val("input");
  const OnnxTensor values = holds_tensor(given) ? c.sym(given) : c.operand(given, sequence.dtype);
  // Each sequence belongs to a row of values: [..., 1, n] against [..., m, 1].
  if (sequence.rank() > 1) sequence = w.unsqueeze(sequence, {-2});
  return count_below(c, sequence, values, right, c.flag("out_int32"));
}

NodeResult bucketize(Call& c) {
  const OnnxTensor boundaries = c.tensor("boundaries");
  const NodeResult given = c.val("input");
  const OnnxTensor values = holds_tensor(given) ? c.sym(given) : c.operand(given, boundaries.dtype);
  return count_below(c, boundaries, values, c.flag("right"), c.flag("out_int32"));
}

}  // namespace

void add_sorting_converters(Converters& table) {
  table.add("sort", [](Call& c) {
    const std::vector<OnnxTensor> found = sorted(c);
    return NodeResult::sequence({found[0], found[1]});
  });
  table.add("argsort", [](Call& c) -> NodeResult { return sorted(c)[1]; });
  table.add("topk", topk);
  table.add("median", median);
  table.add("searchsorted", searchsorted);
  table.add("bucketize", bucketize);
}

}  // namespace sparsebit::exports
