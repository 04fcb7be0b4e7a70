#include "frontends/onnx/ops/axis.h"
#include "frontends/onnx/ops/families.h"
#include "frontends/onnx/ops/index_range.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {
namespace {

using fx::List;
using fx::Tuple;
using fx::Value;

/// Whether a Gather is an embedding: a constant table of vectors that is read by computed indices.
bool is_embedding(const Conversion& c, int64_t axis) {
  const at::Tensor* table = c.constant(0);
  return table && !c.constant(1) && axis == 0 && table->dim() == 2 && table->is_floating_point() &&
         !c.operand(1).is_symbolic();
}

/// Whether indices are constant and not negative: torch's functions do not accept negative ones.
bool are_plain(const at::Tensor* indices) {
  return indices && (indices->numel() == 0 || indices->min().item<int64_t>() >= 0);
}

/// `x[:, :, indices]`, which counts negative indices from the end as ONNX does.
void gather_items(Conversion& c, int64_t axis) {
  Value indices = c.tensor(1);
  if (c.dtype(1) != at::kLong) indices = c.method("to", {indices, at::kLong});
  std::vector<Value> index(static_cast<size_t>(axis), fx::Slice());
  index.push_back(indices);
  c.give(c.function("operator.getitem", {c.tensor(0), Tuple(std::move(index))}));
}

/// The layer accepts no negative indices, so indices that may be negative are shifted first.
void look_up(Conversion& c) {
  const at::Tensor& table = *c.constant(0);
  Value indices = c.tensor(1);
  if (!are_from_the_front(c, indices)) {
    const Value from_end = c.function("torch.lt", {indices, 0});
    const Value moved = c.function("torch.add", {indices, table.size(0)});
    indices = c.function("torch.where", {from_end, moved, indices});
  }
  c.give(c.module("torch.nn.Embedding", {table.size(0), table.size(1)}, {},
                  {{{"weight", table}}, {}}, {indices}));
}

void convert_gather(Conversion& c) {
  int64_t axis = c.attributes().integer("axis", 0);
  const auto rank = c.rank(0);
  if (rank) axis = wrap_axis(axis, *rank);
  if (is_embedding(c, axis)) return look_up(c);
  if (c.operand(1).kind == Operand::Kind::Int) {
    return c.give(c.function("torch.select", {c.tensor(0), axis, c.operand(1).value}));
  }
  const at::Tensor* indices = c.constant(1);
  if (indices && indices->dim() == 0 && at::isIntegralType(indices->scalar_type(), false)) {
    return c.give(c.function("torch.select", {c.tensor(0), axis, indices->item<int64_t>()}));
  }
  if (are_plain(indices) && indices->dim() == 1) {
    return c.give(c.function("torch.index_select", {c.tensor(0), axis, c.tensor(1)}));
  }
  if (axis < 0 || axis >= kMostAxes) {
    return c.give(c.node("onnx.Gather", {c.tensor(0), c.tensor(1)}, {{"axis", axis}}));
  }
  gather_items(c, axis);
}

void convert_gather_elements(Conversion& c) {
  const int64_t axis = c.attributes().integer("axis", 0);
  const at::Tensor* indices = c.constant(1);
  if (are_plain(indices) && indices->scalar_type() == at::kLong) {
    return c.give(c.function("torch.gather", {c.tensor(0), axis, c.tensor(1)}));
  }
  c.give(c.function("onnx.GatherElements", {c.tensor(0), c.tensor(1)}, {{"axis", axis}}));
}

/// ScatterElements, named Scatter before operator set 11.
void convert_scatter_elements(Conversion& c) {
  const int64_t axis = c.attributes().integer("axis", 0);
  const std::string reduction = c.attributes().text("reduction", "none");
  const at::Tensor* indices = c.constant(1);
  const bool torch_can = are_plain(indices) && indices->scalar_type() == at::kLong &&
                         (reduction == "none" || reduction == "add");
  if (torch_can) {
    const char* target = reduction == "none" ? "torch.scatter" : "torch.scatter_add";
    return c.give(c.function(target, {c.tensor(0), axis, c.tensor(1), c.tensor(2)}));
  }
  c.give(
      c.function("onnx.ScatterElements", c.tensors(), {{"axis", axis}, {"reduction", reduction}}));
}

void convert_top_k(Conversion& c) {
  const Attributes& a = c.attributes();
  Value k;
  if (c.opset() < 10) {
    k = a.integer("k");
  } else if (const auto constant = c.constant_ints(1)) {
    SPARSEBIT_CHECK(constant->size() == 1, InvalidModel, "K has ", constant->size(), " elements");
    k = constant->front();
  } else {
    const auto symbolic = c.int_list(1);
    k = symbolic && symbolic->items.size() == 1 ? symbolic->items[0] : c.tensor(1);
  }
  const Value results = c.function("onnx.TopK", {c.tensor(0), k},
                                   {{"axis", a.integer("axis", -1)},
                                    {"largest", a.integer("largest", 1)},
                                    {"sorted", a.integer("sorted", 1)}});
  c.give(0, c.item(results, 0));
  if (c.wants_output(1)) c.give(1, c.item(results, 1));
}

}  // namespace

void add_indexing_converters(Converters& r) {
  r.add("Gather", convert_gather);
  r.add("GatherElements", convert_gather_elements);
  r.add("Scatter", convert_scatter_elements);
  r.add("ScatterElements", convert_scatter_elements);
  r.add("TopK", convert_top_k);
}

}  // namespace sparsebit::frontends
