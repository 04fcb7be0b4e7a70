#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/onnx_input.h"

#include <ATen/WrapDimUtils.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;

/// Parts of the given sizes, or `num_outputs` equal ones of which the last may be smaller.
Value split(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t axis = at::maybe_wrap_dim(a.integer("axis"), x.dim());
  if (!a.is_none("split")) return tuple_of(x.split_with_sizes(int_input(a, "split"), axis));
  const int64_t count = a.integer("num_outputs"), size = x.size(axis);
  SPARSEBIT_CHECK(count > 0, InvalidArgument, "num_outputs must be positive, got ", count);
  const int64_t part = (size + count - 1) / count;
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start = std::min(i * part, size);
    parts.push_back(x.narrow(axis, start, std::min(part, size - start)));
  }
  return tuple_of(parts);
}

/// Elements start, start + step, ... before `end`, with numpy's rules for bounds outside.
Tensor slice_axis(const Tensor& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  SPARSEBIT_CHECK(step != 0, InvalidArgument, "steps must not be 0");
  const int64_t size = x.size(axis);
  if (step > 0) return x.slice(axis, start, end, step);
  const auto resolve = [size](int64_t bound) {
    return std::clamp(bound < 0 ? bound + size : bound, int64_t{-1}, size - 1);
  };
  const int64_t first = resolve(start), stop = resolve(end);
  // the same elements in ascending order, reversed below
  const int64_t stride = step < -size ? size + 1 : -step;
  const int64_t count = first > stop ? (first - stop + stride - 1) / stride : 0;
  if (count == 0) return x.slice(axis, 0, 0);
  const int64_t last = first - (count - 1) * stride;
  return x.slice(axis, last, first + 1, stride).flip(axis);
}

Value slice(const Args& a) {
  Tensor x = a.tensor("data");
  const Ints starts = int_input(a, "starts"), ends = int_input(a, "ends");
  const size_t count = starts.size();
  Ints axes(count), steps(count, 1);
  for (size_t i = 0; i < count; ++i) axes[i] = static_cast<int64_t>(i);
  if (!a.is_none("axes")) axes = int_input(a, "axes");
  if (!a.is_none("steps")) steps = int_input(a, "steps");
  SPARSEBIT_CHECK(ends.size() == count && axes.size() == count && steps.size() == count,
                  InvalidArgument, "starts, ends, axes and steps have ", count, ", ", ends.size(),
                  ", ", axes.size(), " and ", steps.size(), " entries");
  axes = wrap_axes(axes, x.dim());
  for (size_t i = 0; i < count; ++i) x = slice_axis(x, axes[i], starts[i], ends[i], steps[i]);
  return x;
}

}  // namespace

void add_onnx_joining_operators(OperatorTable& table) {
  table.add({.name = "onnx.Split",
             .schema = "input, split=None, axis=0, num_outputs=None",
             .forms = {"onnx.Split"},
             .view = true,
             .like = "split",
             .kernel = split});
  table.add({.name = "onnx.Slice",
             .schema = "data, starts, ends, axes=None, steps=None",
             .forms = {"onnx.Slice"},
             .view = true,
             .like = "narrow",
             .kernel = slice});
}

}  // namespace sparsebit::fx
