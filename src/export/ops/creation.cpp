#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {
namespace {

at::ScalarType wanted_dtype(Call& c, at::ScalarType missing) {
  return c.args().optional_dtype("dtype").value_or(missing);
}

/// A tensor filled with one value, which may be computed in the graph.
NodeResult filled(Call& c, const OnnxTensor& shape, const NodeResult& value, at::ScalarType dtype) {
  if (value.is_plain()) return c.w.filled(shape, value.plain.to_scalar(), dtype);
  return c.w.expand(c.scalar(value, dtype), shape);
}

at::ScalarType fill_dtype(const NodeResult& value) {
  const at::ScalarType dtype = dtype_of(value);
  return dtype == at::kDouble && !holds_tensor(value) ? at::kFloat : dtype;
}

Converter sized(double value) {
  return [value](Call& c) -> NodeResult {
    return c.w.filled(c.int_vector("size"), value, wanted_dtype(c, at::kFloat));
  };
}

Converter sized_like(double value) {
  return [value](Call& c) -> NodeResult {
    const OnnxTensor x = c.tensor("input");
    return c.w.filled(c.w.shape_of(x), value, wanted_dtype(c, x.dtype));
  };
}

Converter sized_new(double value) {
  return [value](Call& c) -> NodeResult {
    return c.w.filled(c.int_vector("size"), value, wanted_dtype(c, c.tensor("input").dtype));
  };
}

NodeResult arange(Call& c) {
  const bool only_end = c.is_none("end");
  const NodeResult start =
      only_end || c.is_none("start") ? NodeResult(fx::Value(0)) : c.val("start");
  const NodeResult end = c.val(only_end ? "start" : "end"), step = c.val("step");
  bool real = false;
  for (const NodeResult* v : {&start, &end, &step}) real |= at::isFloatingType(dtype_of(*v));
  const at::ScalarType work = real ? at::kDouble : at::kLong;
  const at::ScalarType dtype = wanted_dtype(c, real ? at::kFloat : at::kLong);
  const OnnxTensor numbers =
      c.w.range(c.scalar(start, work), c.scalar(end, work), c.scalar(step, work));
  return c.w.cast(numbers, dtype);
}

NodeResult linspace(Call& c) {
  GraphWriter& w = c.w;
  const at::ScalarType dtype = wanted_dtype(c, at::kFloat);
  const OnnxTensor steps = c.scalar(c.val("steps"), at::kLong);
  const OnnxTensor start = c.scalar(c.val("start"), at::kDouble),
                   end = c.scalar(c.val("end"), at::kDouble);
  const OnnxTensor index =
      w.cast(w.range(w.scalar(0, at::kLong), steps, w.scalar(1, at::kLong)), at::kDouble);
  const OnnxTensor one = w.scalar(1.0, at::kDouble);
  const OnnxTensor gaps = w.maximum(w.sub(w.cast(steps, at::kDouble), one), one);
  return w.cast(w.add(start, w.mul(index, w.div(w.sub(end, start), gaps))), dtype);
}

NodeResult meshgrid(Call& c) {
  GraphWriter& w = c.w;
  std::vector<OnnxTensor> lines = c.tensors("tensors");
  const bool swapped = !c.is_none("indexing") && c.text("indexing") == "xy" && lines.size() > 1;
  if (swapped) std::swap(lines[0], lines[1]);
  std::vector<OnnxTensor> sizes;
  for (OnnxTensor& line : lines) {
    if (line.rank() == 0) line = w.unsqueeze(line, {0});
    sizes.push_back(w.size_of(line, 0));
  }
  const OnnxTensor shape = w.concat(sizes, 0);
  std::vector<NodeResult> grids;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<int64_t> axes;
    for (size_t k = 0; k < lines.size(); ++k) {
      if (k != i) axes.push_back(static_cast<int64_t>(k));
    }
    OnnxTensor grid = w.expand(w.unsqueeze(lines[i], axes), shape);
    if (!grid.shape) grid.shape = Shape(lines.size(), -1);
    grids.emplace_back(grid);
  }
  if (swapped) std::swap(grids[0], grids[1]);
  return NodeResult::sequence(std::move(grids));
}

/// torch.tensor of computed numbers: nested lists are stacked.
OnnxTensor stack_nested(Call& c, const NodeResult& data, at::ScalarType dtype) {
  const bool list = data.is_sequence() || (data.is_plain() && data.plain.is_sequence());
  if (!list) return c.scalar(data, dtype);
  std::vector<OnnxTensor> rows;
  const std::vector<NodeResult> items =
      data.is_sequence()
          ? data.items
          : std::vector<NodeResult>(data.plain.items().begin(), data.plain.items().end());
  for (const NodeResult& item : items)
    rows.push_back(c.w.unsqueeze(stack_nested(c, item, dtype), {0}));
  return c.w.concat(rows, 0);
}

at::ScalarType widest(const NodeResult& data) {
  if (!data.is_sequence())
    return data.is_plain() && data.plain.is_sequence() ? at::kLong : fill_dtype(data);
  at::ScalarType dtype = at::kBool;
  for (const NodeResult& item : data.items) dtype = at::promote_types(dtype, widest(item));
  return dtype;
}

NodeResult tensor(Call& c) {
  const NodeResult data = c.val("data");
  if (holds_tensor(data)) return c.w.cast(c.sym(data), wanted_dtype(c, dtype_of(data)));
  return stack_nested(c, data, wanted_dtype(c, widest(data)));
}

/// A mask of the elements whose column - row compares with `offset` as `type` says.
OnnxTensor diagonal_mask(Call& c, const OnnxTensor& rows, const OnnxTensor& columns,
                         const std::string& type, const OnnxTensor& offset) {
  GraphWriter& w = c.w;
  const OnnxTensor zero = w.scalar(0, at::kLong), one = w.scalar(1, at::kLong);
  const OnnxTensor i = w.unsqueeze(w.range(zero, w.squeeze(rows, {0}), one), {1});
  const OnnxTensor j = w.unsqueeze(w.range(zero, w.squeeze(columns, {0}), one), {0});
  return w.compare(type, w.sub(j, i), offset);
}

NodeResult eye(Call& c) {
  const OnnxTensor rows = c.int_vector("n");
  const OnnxTensor columns = c.is_none("m") ? rows : c.int_vector("m");
  const OnnxTensor mask = diagonal_mask(c, rows, columns, "Equal", c.w.scalar(0, at::kLong));
  return c.w.cast(mask, wanted_dtype(c, at::kFloat));
}

NodeResult triangle(Call& c, bool upper) {
  const OnnxTensor x = c.tensor("input");
  GraphWriter& w = c.w;
  const OnnxTensor offset = c.scalar(c.val("diagonal"), at::kLong);
  const bool common = x.dtype == at::kFloat || x.dtype == at::kDouble || x.dtype == at::kLong;
  if (w.opset() >= 14 && common)
    return w.op("Trilu", {x, offset}, {{"upper", upper}}, x.dtype, x.shape);
  const OnnxTensor keep = diagonal_mask(c, w.size_of(x, -2), w.size_of(x, -1),
                                        upper ? "GreaterOrEqual" : "LessOrEqual", offset);
  const OnnxTensor wide = w.cast(x, computable(x.dtype));
  return w.cast(w.where(keep, wide, w.scalar_like(0, wide)), x.dtype);
}

NodeResult triangle_indices(Call& c, bool upper) {
  const OnnxTensor offset = c.scalar(c.val("offset"), at::kLong);
  const OnnxTensor mask = diagonal_mask(c, c.int_vector("row"), c.int_vector("col"),
                                        upper ? "GreaterOrEqual" : "LessOrEqual", offset);
  return c.w.cast(c.w.nonzero(mask), wanted_dtype(c, at::kLong));
}

NodeResult one_hot(Call& c) {
  GraphWriter& w = c.w;
  const OnnxTensor x = c.tensor("input");
  const int64_t rank = x.rank();
  Shape shape(x.shape->begin(), x.shape->begin() + rank);
  const NodeResult classes = c.val("num_classes");
  const bool inferred = classes.is_plain() && classes.plain.to_int() < 0;
  OnnxTensor depth;
  if (inferred) {
    depth = w.add(w.reduce("ReduceMax", w.reshape(x, Shape{-1}), {0}, true), 1.0);
  } else {
    depth = c.int_vector(classes);
  }
  shape.push_back(depth.constant.defined() ? depth.constant.item<int64_t>() : int64_t{-1});
  return w.op("OneHot", {x, depth, w.ints({0, 1})}, {{"axis", -1}}, at::kLong, shape);
}

}  // namespace

void add_creation_converters(Converters& table) {
  table.add("zeros", sized(0.0));
  table.add("ones", sized(1.0));
  table.add("zeros_like", sized_like(0.0));
  table.add("ones_like", sized_like(1.0));
  table.add("new_zeros", sized_new(0.0));
  table.add("new_ones", sized_new(1.0));
  table.add("full", [](Call& c) {
    const NodeResult value = c.val("fill_value");
    return filled(c, c.int_vector("size"), value, wanted_dtype(c, fill_dtype(value)));
  });
  table.add("full_like", [](Call& c) {
    const OnnxTensor x = c.tensor("input");
    return filled(c, c.w.shape_of(x), c.val("fill_value"), wanted_dtype(c, x.dtype));
  });
  table.add("new_full", [](Call& c) {
    return filled(c, c.int_vector("size"), c.val("fill_value"),
                  wanted_dtype(c, c.tensor("input").dtype));
  });
  table.add("tensor", tensor);
  table.add("arange", arange);
  table.add("linspace", linspace);
  table.add("meshgrid", meshgrid);
  table.add("eye", eye);
  table.add("tril", [](Call& c) { return triangle(c, false); });
  table.add("triu", [](Call& c) { return triangle(c, true); });
  table.add("tril_indices", [](Call& c) { return triangle_indices(c, false); });
  table.add("triu_indices", [](Call& c) { return triangle_indices(c, true); });
  table.add("one_hot", one_hot);
}

}  // namespace sparsebit::exports
