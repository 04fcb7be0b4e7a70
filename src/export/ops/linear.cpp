#include "export/ops/linear.h"

#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <limits>

namespace sparsebit::exports {
namespace {

/// The weight transposed for MatMul. If only this layer uses it, it is stored transposed.
OnnxTensor transposed_weight(Call& c) {
  const at::Tensor weight = c.model_tensor("weight");
  if (!weight.defined() || !c.source().used_once(weight))
    return c.w.transpose(c.tensor("weight"), {1, 0});
  return c.w.constant(weight.detach().t().contiguous(), c.source().path_of(weight) + "_t");
}

NodeResult linear_call(Call& c) {
  const OnnxTensor x = c.tensor("input"), weight = c.tensor("weight");
  if (x.shape && x.rank() == 2) return linear(c, x, weight, c.optional("bias"));
  const OnnxTensor bias = c.optional("bias");
  if (weight.rank() == 1) {
    const OnnxTensor dot = c.w.matmul(x, weight);
    return bias.present() ? c.w.add(dot, bias) : dot;
  }
  const OnnxTensor product = c.w.matmul(x, transposed_weight(c));
  return bias.present() ? c.w.add(product, bias) : product;
}

/// Embedding rows with a norm above max_norm are scaled down to it.
OnnxTensor renormalized(Call& c, const OnnxTensor& rows) {
  const double limit = c.number("max_norm"), p = c.number("norm_type");
  GraphWriter& w = c.w;
  OnnxTensor norm;
  if (p == 2.0) {
    norm = w.reduce("ReduceL2", rows, {-1}, true);
  } else if (p == 1.0) {
    norm = w.reduce("ReduceL1", rows, {-1}, true);
  } else {
    norm = w.pow(w.reduce("ReduceSum", w.pow(w.unary("Abs", rows), p), {-1}, true), 1.0 / p);
  }
  const OnnxTensor factor = w.div(w.scalar_like(limit, rows), w.add(norm, 1e-7));
  return w.where(w.compare("Greater", norm, limit), w.mul(rows, factor), rows);
}

OnnxTensor lookup(Call& c, const OnnxTensor& index) {
  const OnnxTensor rows = c.w.gather(c.tensor("weight"), index, 0);
  return c.is_none("max_norm") ? rows : renormalized(c, rows);
}

NodeResult bilinear(Call& c) {
  const OnnxTensor a = c.tensor("input1"), b = c.tensor("input2"), weight = c.tensor("weight");
  GraphWriter& w = c.w;
  // sum_ij a_i W_oij b_j = sum_j (a W)_oj b_j, with a as [..., 1, 1, i].
  const OnnxTensor left = w.matmul(w.unsqueeze(a, {-2, -3}), weight);
  const OnnxTensor product = w.mul(w.squeeze(left, {-2}), w.unsqueeze(b, {-2}));
  const OnnxTensor sum = w.reduce("ReduceSum", product, {-1}, false);
  return c.is_none("bias") ? sum : w.add(sum, c.tensor("bias"));
}

/// The embedded rows of EmbeddingBag, and which bag each belongs to.
struct Bags {
  OnnxTensor rows = {};    ///< [n, d], before reduction
  OnnxTensor member = {};  ///< [bags, n], 1 where a position belongs to a bag
};

Bags read_bags(Call& c) {
  GraphWriter& w = c.w;
  const OnnxTensor index = w.cast(c.tensor("input"), at::kLong),
                   offsets = w.cast(c.tensor("offsets"), at::kLong);
  Bags bags{lookup(c, index)};
  const OnnxTensor count = w.size_of(index, 0);
  const OnnxTensor position =
      w.range(w.scalar(0, at::kLong), w.squeeze(count, {0}), w.scalar(1, at::kLong));
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  const bool last = c.flag("include_last_offset");
  const OnnxTensor starts = last ? w.slice(offsets, 0, 0, -1) : offsets;
  const OnnxTensor stops =
      last ? w.slice(offsets, 0, 1, kEnd) : w.concat({w.slice(offsets, 0, 1, kEnd), count}, 0);
  const OnnxTensor column = w.unsqueeze(position, {0});
  bags.member = w.logic("And", w.logical_not(w.compare("Less", column, w.unsqueeze(starts, {1}))),
                        w.compare("Less", column, w.unsqueeze(stops, {1})));
  if (!c.is_none("padding_idx")) {
    const OnnxTensor weight = c.tensor("weight");
    const int64_t row = c.integer("padding_idx");
    const OnnxTensor padded =
        w.compare("Equal", index, w.scalar(row < 0 ? row + weight.size(0) : row, at::kLong));
    bags.member = w.logic("And", bags.member, w.unsqueeze(w.logical_not(padded), {0}));
  }
  return bags;
}

/// Mean, sum or maximum of each bag, over axis 1 of [bags, n, d].
OnnxTensor pool_rows(Call& c, const OnnxTensor& rows, const std::string& mode) {
  const char* const type = mode == "sum"    ? "ReduceSum"
                           : mode == "mean" ? "ReduceMean"
                                            : "ReduceMax";
  return c.w.reduce(type, rows, {1}, false);
}

NodeResult flat_bags(Call& c, const std::string& mode) {
  GraphWriter& w = c.w;
  const Bags bags = read_bags(c);
  const at::ScalarType dtype = bags.rows.dtype;
  if (mode == "max") {
    const OnnxTensor inside = w.unsqueeze(bags.member, {2});
    const OnnxTensor masked = w.where(inside, w.unsqueeze(bags.rows, {0}),
                                      w.scalar(dtype == at::kDouble ? -1e308 : -3e38, dtype));
    const OnnxTensor best = w.reduce("ReduceMax", masked, {1}, false);
    const OnnxTensor any = w.reduce("ReduceMax", w.cast(bags.member, at::kInt), {1}, true);
    return w.where(w.cast(any, at::kBool), best, w.scalar(0, dtype));
  }
  OnnxTensor member = w.cast(bags.member, dtype);
  if (mode == "mean") {
    const OnnxTensor count = w.reduce("ReduceSum", member, {1}, true);
    const OnnxTensor total = w.matmul(member, bags.rows);
    return w.div(total, w.maximum(count, w.scalar_like(1, count)));
  }
  if (!c.is_none("per_sample_weights"))
    member = w.mul(member, w.unsqueeze(c.tensor("per_sample_weights"), {0}));
  return w.matmul(member, bags.rows);
}

NodeResult embedding_bag(Call& c) {
  GraphWriter& w = c.w;
  const OnnxTensor index = c.tensor("input");
  const std::string mode = c.text("mode");
  if (index.rank() == 1) return flat_bags(c, mode);
  OnnxTensor rows = lookup(c, index);
  if (!c.is_none("per_sample_weights"))
    rows = w.mul(rows, w.unsqueeze(c.tensor("per_sample_weights"), {2}));
  if (c.is_none("padding_idx")) return pool_rows(c, rows, mode);
  const int64_t row = c.integer("padding_idx");
  const OnnxTensor weight = c.tensor("weight");
  const OnnxTensor padding = w.scalar(row < 0 ? row + weight.size(0) : row, index.dtype);
  const OnnxTensor kept = w.unsqueeze(w.logical_not(w.compare("Equal", index, padding)), {2});
  const OnnxTensor count = w.reduce("ReduceSum", w.cast(kept, rows.dtype), {1}, false);
  if (mode == "max") {
    const OnnxTensor best = pool_rows(c, w.where(kept, rows, w.scalar(-3e38, rows.dtype)), mode);
    return w.where(w.compare("Greater", count, 0.0), best, w.scalar(0, rows.dtype));
  }
  const OnnxTensor sum = pool_rows(c, w.mul(rows, w.cast(kept, rows.dtype)), "sum");
  return mode == "sum" ? sum : w.div(sum, w.maximum(count, w.scalar_like(1, count)));
}

}  // namespace

OnnxTensor linear(Call& c, const OnnxTensor& x, const OnnxTensor& weight, const OnnxTensor& bias) {
  if (x.shape && x.rank() == 2 && weight.rank() == 2)
    return c.w.op("Gemm", {x, weight, bias}, {{"transB", 1}}, x.dtype,
                  Shape{x.size(0), weight.size(0)});
  const OnnxTensor product = c.w.matmul(x, c.w.transpose(weight, {1, 0}));
  return bias.present() ? c.w.add(product, bias) : product;
}

void add_linear_converters(Converters& table) {
  table.add("linear", linear_call);
  table.add("bilinear", bilinear);
  table.add("embedding", [](Call& c) -> NodeResult { return lookup(c, c.tensor("input")); });
  table.add("embedding_bag", embedding_bag);
}

}  // namespace sparsebit::exports
