#include "fx/ops/onnx_input.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>

#include <algorithm>
#include <numeric>

namespace sparsebit::fx {

std::vector<int64_t> int_input(const Args& a, std::string_view name) {
  if (!a[name].is_tensor()) return a.ints(name);
  const at::Tensor given = a.tensor(name);
  SPARSEBIT_CHECK(given.dim() <= 1 && at::isIntegralType(given.scalar_type(), false),
                  InvalidArgument, name, " must be a list of ints, got ", describe(a[name]));
  const at::Tensor longs = given.to(at::kLong).contiguous();
  const auto* const data = longs.data_ptr<int64_t>();
  return {data, data + longs.numel()};
}

double number_input(const Args& a, std::string_view name, double otherwise) {
  return a.is_none(name) ? otherwise : a[name].to_double();
}

std::vector<int64_t> wrap_axes(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t& axis : axes) axis = at::maybe_wrap_dim(axis, rank);
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  SPARSEBIT_CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), InvalidArgument,
                  "axes must be distinct, got ", at::IntArrayRef(axes));
  return axes;
}

std::vector<int64_t> reduced_dims(const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  if (axes.empty()) return dims;
  dims.clear();
  for (const int64_t axis : axes) dims.push_back(at::maybe_wrap_dim(axis, rank));
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

at::Tensor wrap_indices(const at::Tensor& indices, int64_t size) {
  SPARSEBIT_CHECK(at::isIntegralType(indices.scalar_type(), false), InvalidArgument,
                  "indices must be ints, got ", describe(indices));
  const at::Tensor longs = indices.to(at::kLong);
  if (longs.numel() == 0) return longs;
  const auto low = longs.min().item<int64_t>(), high = longs.max().item<int64_t>();
  SPARSEBIT_CHECK(low >= -size && high < size, InvalidArgument, "index ", low < -size ? low : high,
                  " is out of range for an axis with ", size, " elements");
  return low < 0 ? at::where(longs.lt(0), longs + size, longs) : longs;
}

}  // namespace sparsebit::fx
