#include "frontends/onnx/shape_rules.h"

namespace sparsebit::frontends {
namespace {

using fx::TensorInfo;

MaybeInfo gather(const Conversion& c) {
  const MaybeInfo x = c.info(0), indices = c.info(1);
  if (!x || !indices) return std::nullopt;
  const auto axis = axis_of(c.attributes().integer("axis", 0), x->shape.size());
  if (!axis) return std::nullopt;
  TensorInfo result{.shape = {}, .dtype = x->dtype};
  for (size_t i = 0; i < *axis; ++i) copy_size(*x, i, result);
  for (size_t i = 0; i < indices->shape.size(); ++i) copy_size(*indices, i, result);
  for (size_t i = *axis + 1; i < x->shape.size(); ++i) copy_size(*x, i, result);
  return result;
}

MaybeInfo gather_elements(const Conversion& c) {
  MaybeInfo indices = c.info(1);
  if (!indices || !c.dtype(0)) return std::nullopt;
  indices->dtype = *c.dtype(0);
  return indices;
}

MaybeInfo scatter(const Conversion& c) { return c.info(0); }

MaybeInfo top_k(const Conversion& c) {
  MaybeInfo x = c.info(0);
  if (!x) return std::nullopt;
  const auto axis = axis_of(c.attributes().integer("axis", -1), x->shape.size());
  if (!axis) return std::nullopt;
  const auto k = c.constant_ints(1);
  const int64_t input = k && k->size() == 1 ? k->front() : -1;
  x->shape[*axis] = c.opset() < 10 ? c.attributes().integer("k", -1) : input;
  if (*axis < x->symbols.size()) x->symbols[*axis] = "";
  return x;
}

/// One column for each element that is not zero.
MaybeInfo nonzero(const Conversion& c) {
  const auto rank = c.rank(0);
  return rank ? MaybeInfo(unnamed({*rank, -1}, at::kLong)) : std::nullopt;
}

MaybeInfo one_hot(const Conversion& c) {
  const MaybeInfo indices = c.info(0);
  const auto dtype = c.dtype(2);
  if (!indices || !dtype) return std::nullopt;
  const auto axis = axis_of(c.attributes().integer("axis", -1), indices->shape.size() + 1);
  if (!axis) return std::nullopt;
  const auto depth = c.constant_ints(1);
  TensorInfo result{.shape = {}, .dtype = *dtype};
  for (size_t i = 0; i <= indices->shape.size(); ++i) {
    if (i == *axis) add_size(result, depth && depth->size() == 1 ? depth->front() : -1);
    if (i < indices->shape.size()) copy_size(*indices, i, result);
  }
  return result;
}

/// The last axis of the indices selects along the first axes of the data; the other axes stay.
MaybeInfo gather_nd(const Conversion& c) {
  const MaybeInfo x = c.info(0), indices = c.info(1);
  if (!x || !indices || indices->shape.empty() || indices->shape.back() < 0) return std::nullopt;
  const int64_t batch = c.attributes().integer("batch_dims", 0);
  const auto rank = static_cast<int64_t>(x->shape.size());
  if (batch < 0 || batch > rank || indices->shape.back() > rank - batch) return std::nullopt;
  TensorInfo result{.shape = {}, .dtype = x->dtype};
  for (size_t i = 0; i + 1 < indices->shape.size(); ++i) copy_size(*indices, i, result);
  for (int64_t i = batch + indices->shape.back(); i < rank; ++i) {
    copy_size(*x, static_cast<size_t>(i), result);
  }
  return result;
}

/// Channels of the image at the positions of the grid, whose last axis holds coordinates.
MaybeInfo grid_sample(const Conversion& c) {
  const MaybeInfo x = c.info(0), grid = c.info(1);
  if (!x || !grid || x->shape.size() < 3 || grid->shape.size() != x->shape.size()) {
    return std::nullopt;
  }
  TensorInfo result{.shape = {}, .dtype = x->dtype};
  copy_size(*x, 0, result);
  copy_size(*x, 1, result);
  for (size_t i = 1; i + 1 < grid->shape.size(); ++i) copy_size(*grid, i, result);
  return result;
}

}  // namespace

void add_indexing_rules(ShapeRules& r) {
  r["Gather"] = gather;
  r["GatherElements"] = gather_elements;
  r["GatherND"] = gather_nd;
  r["GridSample"] = grid_sample;
  r["NonZero"] = nonzero;
  r["OneHot"] = one_hot;
  r["Scatter"] = scatter;
  r["TopK"] = top_k;
}

}  // namespace sparsebit::frontends
