#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/onnx_input.h"

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;

Value gather(const Args& a) {
  const Tensor x = a.tensor("data");
  SPARSEBIT_CHECK(x.dim() > 0, InvalidArgument, "data must have at least one axis");
  const int64_t axis = at::maybe_wrap_dim(a.integer("axis"), x.dim());
  const Tensor indices = wrap_indices(a.tensor("indices"), x.size(axis));
  Ints shape = x.sizes().vec();
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices.sizes().begin(), indices.sizes().end());
  return x.index_select(axis, indices.flatten()).reshape(shape);
}

/// The axis and indices of GatherElements and ScatterElements.
std::pair<int64_t, Tensor> element_indices(const Args& a, const Tensor& x) {
  const Tensor indices = a.tensor("indices");
  SPARSEBIT_CHECK(x.dim() > 0 && indices.dim() == x.dim(), InvalidArgument, "indices have ",
                  indices.dim(), " axes, data ", x.dim());
  const int64_t axis = at::maybe_wrap_dim(a.integer("axis"), x.dim());
  return {axis, wrap_indices(indices, x.size(axis))};
}

Value gather_elements(const Args& a) {
  const Tensor x = a.tensor("data");
  const auto [axis, indices] = element_indices(a, x);
  return at::gather(x, axis, indices);
}

Value scatter_elements(const Args& a) {
  const Tensor x = a.tensor("data"), updates = a.tensor("updates");
  const auto [axis, indices] = element_indices(a, x);
  static constexpr const char* kReductions[] = {"", "sum", "prod", "amax", "amin"};
  const int64_t reduction = number_of(a, "reduction", {"none", "add", "mul", "max", "min"});
  if (reduction == 0) return at::scatter(x, axis, indices, updates);
  return at::scatter_reduce(x, axis, indices, updates, kReductions[reduction]);
}

/// The flat position, in the first `batch_dims + depth` axes of `x`, of the element or slice that
/// each row of `indices` addresses. A row has `depth` numbers, for the axes after the batch axes.
Tensor linear_indices(const Tensor& x, const Tensor& indices, int64_t batch_dims, int64_t depth) {
  Tensor linear = at::zeros({}, at::kLong);
  for (int64_t i = 0; i < batch_dims; ++i) {
    Ints shape(static_cast<size_t>(indices.dim() - 1), 1);
    shape[static_cast<size_t>(i)] = x.size(i);
    linear = linear * x.size(i) + at::arange(x.size(i), at::kLong).view(shape);
  }
  for (int64_t i = 0; i < depth; ++i) {
    const int64_t size = x.size(batch_dims + i);
    linear = linear * size + wrap_indices(indices.select(-1, i), size);
  }
  return linear.expand(indices.sizes().slice(0, static_cast<size_t>(indices.dim() - 1))).flatten();
}

int64_t checked_depth(const Tensor& x, const Tensor& indices, int64_t batch_dims) {
  SPARSEBIT_CHECK(indices.dim() > 0 && batch_dims >= 0 && batch_dims < indices.dim(),
                  InvalidArgument, "batch_dims must be 0 to ", indices.dim() - 1,
                  " for indices of rank ", indices.dim(), ", got ", batch_dims);
  const int64_t depth = indices.size(-1);
  SPARSEBIT_CHECK(batch_dims + depth <= x.dim(), InvalidArgument, "indices address ", depth,
                  " axes, but data has only ", x.dim() - batch_dims, " after the batch axes");
  for (int64_t i = 0; i < batch_dims; ++i) {
    SPARSEBIT_CHECK(indices.size(i) == x.size(i), InvalidArgument, "batch axis ", i, " has size ",
                    x.size(i), " in data and ", indices.size(i), " in indices");
  }
  return depth;
}

/// `x` with its first `count` axes joined.
Tensor join_front(const Tensor& x, int64_t count) {
  return count == 0 ? x.unsqueeze(0) : x.flatten(0, count - 1);
}

Value gather_nd(const Args& a) {
  const Tensor x = a.tensor("data"), indices = a.tensor("indices");
  const int64_t batch_dims = a.integer("batch_dims");
  const int64_t depth = checked_depth(x, indices, batch_dims);
  const Tensor linear = linear_indices(x, indices, batch_dims, depth);
  Ints shape = indices.sizes().slice(0, static_cast<size_t>(indices.dim() - 1)).vec();
  const auto rest = x.sizes().slice(static_cast<size_t>(batch_dims + depth));
  shape.insert(shape.end(), rest.begin(), rest.end());
  return join_front(x, batch_dims + depth).index_select(0, linear).reshape(shape);
}

Value scatter_nd(const Args& a) {
  const Tensor x = a.tensor("data"), indices = a.tensor("indices");
  const int64_t depth = checked_depth(x, indices, 0);
  const Tensor linear = linear_indices(x, indices, 0, depth);
  const Tensor rows = join_front(x, depth);
  Ints shape = rows.sizes().vec();
  shape[0] = linear.size(0);
  const Tensor updates = a.tensor("updates").reshape(shape);
  static constexpr const char* kReductions[] = {"", "sum", "prod", "amax", "amin"};
  const int64_t reduction = number_of(a, "reduction", {"none", "add", "mul", "max", "min"});
  if (reduction == 0) return rows.index_put({linear}, updates).reshape(x.sizes());
  Ints ones(shape.size(), 1);
  ones[0] = linear.size(0);
  const Tensor spread = linear.view(ones).expand(shape);
  return at::scatter_reduce(rows, 0, spread, updates, kReductions[reduction]).reshape(x.sizes());
}

/// Indices outside of [-depth, depth) give a row without the "on" value.
Value one_hot(const Args& a) {
  const Tensor indices = a.tensor("indices"), values = a.tensor("values");
  const auto depth = static_cast<int64_t>(a["depth"].to_double());
  SPARSEBIT_CHECK(depth > 0, InvalidArgument, "depth must be positive, got ", depth);
  SPARSEBIT_CHECK(values.dim() == 1 && values.size(0) == 2, InvalidArgument,
                  "values must be [off, on], got shape ", values.sizes());
  const int64_t axis = at::maybe_wrap_dim(a.integer("axis"), indices.dim() + 1);
  const Tensor places = indices.to(at::kLong).unsqueeze(axis);
  Ints shape(static_cast<size_t>(indices.dim() + 1), 1);
  shape[static_cast<size_t>(axis)] = depth;
  const Tensor range = at::arange(depth, at::kLong).view(shape);
  const Tensor on = range.eq(at::where(places.lt(0), places + depth, places));
  return at::where(on, values.select(0, 1), values.select(0, 0));
}

/// Of equal elements the one with the lower index comes first.
Value top_k(const Args& a) {
  const Tensor x = a.tensor("X");
  const int64_t axis = at::maybe_wrap_dim(a.integer("axis"), x.dim());
  const int64_t k = a["K"].to_int(), size = x.dim() == 0 ? 1 : x.size(axis);
  SPARSEBIT_CHECK(k >= 0 && k <= size, InvalidArgument, "K must be 0 to ", size,
                  ", the size of the axis, got ", k);
  const auto [values, indices] = at::sort(x, /*stable=*/true, axis, a.flag("largest"));
  return Tuple{values.narrow(axis, 0, k), indices.narrow(axis, 0, k)};
}

}  // namespace

void add_onnx_indexing_operators(OperatorTable& table) {
  table.add({.name = "onnx.Gather",
             .schema = "data, indices, axis=0",
             .forms = {"onnx.Gather"},
             .growth = Growth::Lookup,
             .kernel = gather});
  table.add({.name = "onnx.GatherElements",
             .schema = "data, indices, axis=0",
             .forms = {"onnx.GatherElements"},
             .kernel = gather_elements});
  table.add({.name = "onnx.GatherND",
             .schema = "data, indices, batch_dims=0",
             .forms = {"onnx.GatherND"},
             .growth = Growth::Lookup,
             .kernel = gather_nd});
  table.add({.name = "onnx.ScatterElements",
             .schema = "data, indices, updates, axis=0, reduction='none'",
             .forms = {"onnx.ScatterElements"},
             .kernel = scatter_elements});
  table.add({.name = "onnx.ScatterND",
             .schema = "data, indices, updates, reduction='none'",
             .forms = {"onnx.ScatterND"},
             .kernel = scatter_nd});
  table.add({.name = "onnx.OneHot",
             .schema = "indices, depth, values, axis=-1",
             .forms = {"onnx.OneHot"},
             .growth = Growth::Sizes,
             .kernel = one_hot});
  table.add({.name = "onnx.TopK",
             .schema = "X, K, axis=-1, largest=1, sorted=1",
             .forms = {"onnx.TopK"},
             .kernel = top_k});
}

}  // namespace sparsebit::fx
