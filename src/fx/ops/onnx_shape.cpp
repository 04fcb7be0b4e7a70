#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/onnx_input.h"

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;

/// 0 copies the input's size unless `allowzero`; -1 is inferred from the number of elements.
Value reshape(const Args& a) {
  const Tensor x = a.tensor("data");
  Ints shape = int_input(a, "shape");
  for (size_t i = 0; i < shape.size() && !a.flag("allowzero"); ++i) {
    if (shape[i] == 0) shape[i] = x.size(static_cast<int64_t>(i));
  }
  return at::reshape(x, shape);
}

/// Merges the axes before `axis` into one, and the others into a second one.
Value flatten(const Args& a) {
  const Tensor x = a.tensor("input");
  int64_t axis = a.integer("axis");
  if (axis != x.dim()) axis = at::maybe_wrap_dim(axis, x.dim());
  int64_t rows = 1, columns = 1;
  for (int64_t i = 0; i < x.dim(); ++i) (i < axis ? rows : columns) *= x.size(i);
  return at::reshape(x, {rows, columns});
}

/// Broadcasts in both directions: either side may have axes of size 1.
Value expand(const Args& a) {
  const Tensor x = a.tensor("input");
  Ints shape = int_input(a, "shape");
  while (static_cast<int64_t>(shape.size()) < x.dim()) shape.insert(shape.begin(), 1);
  const auto missing = static_cast<int64_t>(shape.size()) - x.dim();
  for (int64_t i = 0; i < x.dim(); ++i) {
    int64_t& size = shape[static_cast<size_t>(missing + i)];
    if (size == 1) size = x.size(i);
  }
  for (const int64_t size : shape) {
    SPARSEBIT_CHECK(size >= 0, InvalidArgument, "shape must not be negative, got ", size);
  }
  return x.expand(shape);
}

Value tile(const Args& a) {
  const Tensor x = a.tensor("input");
  const Ints repeats = int_input(a, "repeats");
  SPARSEBIT_CHECK(static_cast<int64_t>(repeats.size()) == x.dim(), InvalidArgument, "repeats has ",
                  repeats.size(), " entries for an input with ", x.dim(), " axes");
  return x.repeat(repeats);
}

Value squeeze(const Args& a) {
  Tensor x = a.tensor("data");
  if (a.is_none("axes")) return x.squeeze();
  Ints axes = wrap_axes(int_input(a, "axes"), x.dim());
  std::sort(axes.rbegin(), axes.rend());
  for (const int64_t axis : axes) {
    SPARSEBIT_CHECK(x.size(axis) == 1, InvalidArgument, "axis ", axis,
                    " must have size 1 to be squeezed, got ", x.size(axis));
    x = x.squeeze(axis);
  }
  return x;
}

Value unsqueeze(const Args& a) {
  Tensor x = a.tensor("data");
  Ints axes = int_input(a, "axes");
  axes = wrap_axes(axes, x.dim() + static_cast<int64_t>(axes.size()));
  std::sort(axes.begin(), axes.end());
  for (const int64_t axis : axes) x = x.unsqueeze(axis);
  return x;
}

Value shape(const Args& a) {
  const Tensor x = a.tensor("data");
  const auto bound = [&](int64_t i) { return std::clamp(i < 0 ? i + x.dim() : i, {}, x.dim()); };
  const int64_t start = bound(a.integer("start"));
  const int64_t end = bound(a.is_none("end") ? x.dim() : a.integer("end"));
  const Ints sizes = x.sizes().vec();
  return at::tensor(at::IntArrayRef(sizes).slice(0, std::max(start, end)).slice(start), at::kLong);
}

Value transpose(const Args& a) {
  const Tensor x = a.tensor("data");
  if (!a.is_none("perm")) return x.permute(a.ints("perm"));
  Ints order(static_cast<size_t>(x.dim()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = x.dim() - 1 - static_cast<int64_t>(i);
  return x.permute(order);
}

Value trilu(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t k = a.is_none("k") ? 0 : a["k"].to_int();
  return a.flag("upper") ? at::triu(x, k) : at::tril(x, k);
}

void check_image(const Tensor& x, int64_t block) {
  SPARSEBIT_CHECK(x.dim() == 4, InvalidArgument, "expected 4 axes, got ", x.dim());
  SPARSEBIT_CHECK(block > 0 && block < (int64_t{1} << 31), InvalidArgument,
                  "blocksize must be positive and less than 2^31, got ", block);
}

/// The position in a block is the outer part of the channel axis for DCR, the inner part for CRD.
Value depth_to_space(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t block = a.integer("blocksize");
  check_image(x, block);
  if (number_of(a, "mode", {"DCR", "CRD"}) == 1) return at::pixel_shuffle(x, block);
  SPARSEBIT_CHECK(x.size(1) % (block * block) == 0, InvalidArgument,
                  "the number of channels must be divisible by ", block * block, ", got ",
                  x.size(1));
  const int64_t n = x.size(0), depth = x.size(1) / (block * block), h = x.size(2), w = x.size(3);
  const Tensor blocks = x.reshape({n, block, block, depth, h, w}).permute({0, 3, 4, 1, 5, 2});
  return blocks.reshape({n, depth, h * block, w * block});
}

Value space_to_depth(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t block = a.integer("blocksize");
  check_image(x, block);
  const int64_t n = x.size(0), depth = x.size(1), h = x.size(2) / block, w = x.size(3) / block;
  SPARSEBIT_CHECK(h * block == x.size(2) && w * block == x.size(3), InvalidArgument,
                  "height and width must be divisible by ", block, ", got ", x.size(2), " x ",
                  x.size(3));
  const Tensor blocks = x.reshape({n, depth, h, block, w, block}).permute({0, 3, 5, 1, 2, 4});
  return blocks.reshape({n, depth * block * block, h, w});
}

/// Reverses the first `sequence_lens[i]` elements of each sequence.
Value reverse_sequence(const Args& a) {
  const Tensor x = a.tensor("input");
  const int64_t time = at::maybe_wrap_dim(a.integer("time_axis"), x.dim());
  const int64_t batch = at::maybe_wrap_dim(a.integer("batch_axis"), x.dim());
  SPARSEBIT_CHECK(time != batch, InvalidArgument, "time_axis and batch_axis must differ, got ",
                  time);
  const Tensor lengths = a.tensor("sequence_lens").to(at::kLong);
  SPARSEBIT_CHECK(lengths.dim() == 1 && lengths.size(0) == x.size(batch), InvalidArgument,
                  "sequence_lens has shape ", lengths.sizes(), " for a batch of ", x.size(batch));
  const Tensor steps = at::arange(x.size(time), at::kLong).unsqueeze(1);
  const Tensor from =
      wrap_indices(at::where(steps.lt(lengths), lengths.sub(1).sub(steps), steps), x.size(time));
  const Tensor which = at::arange(x.size(batch), at::kLong).expand_as(from);
  return x.movedim({time, batch}, {0, 1}).index({from, which}).movedim({0, 1}, {time, batch});
}

Value compress(const Args& a) {
  const Tensor x = a.is_none("axis") ? a.tensor("input").flatten() : a.tensor("input");
  const int64_t axis = a.is_none("axis") ? 0 : a.integer("axis");
  const Tensor condition = a.tensor("condition");
  SPARSEBIT_CHECK(condition.dim() == 1, InvalidArgument, "condition must have one axis, got ",
                  condition.dim());
  return x.index_select(axis, at::nonzero(condition).squeeze(1));
}

/// Returns (unique elements or slices, index of their first occurrence, inverse indices, counts).
Value unique(const Args& a) {
  const Tensor x = a.is_none("axis") ? a.tensor("X").flatten() : a.tensor("X");
  const int64_t axis = at::maybe_wrap_dim(a.is_none("axis") ? 0 : a.integer("axis"), x.dim());
  auto [values, inverse, counts] = at::unique_dim(x.detach(), axis, true, true, true);
  const int64_t count = values.size(axis), size = x.size(axis);
  Tensor first = at::full({count}, size, at::kLong)
                     .scatter_reduce(0, inverse, at::arange(size, at::kLong), "amin");
  if (!a.flag("sorted")) {
    const Tensor order = first.argsort();
    first = first.index_select(0, order);
    counts = counts.index_select(0, order);
    inverse = order.argsort().index_select(0, inverse);
  }
  return Tuple{x.index_select(axis, first), first, inverse, counts};
}

void add_sizes(OperatorTable& table) {
  table.add({.name = "onnx.Reshape",
             .schema = "data, shape, allowzero=0",
             .forms = {"onnx.Reshape"},
             .view = true,
             .like = "reshape",
             .kernel = reshape});
  table.add({.name = "onnx.Flatten",
             .schema = "input, axis=1",
             .forms = {"onnx.Flatten"},
             .view = true,
             .like = "reshape",
             .kernel = flatten});
  table.add({.name = "onnx.Expand",
             .schema = "input, shape",
             .forms = {"onnx.Expand"},
             .view = true,
             .growth = Growth::Sizes,
             .like = "expand",
             .kernel = expand});
  table.add({.name = "onnx.Tile",
             .schema = "input, repeats",
             .forms = {"onnx.Tile"},
             .growth = Growth::Sizes,
             .kernel = tile});
  table.add({.name = "onnx.Squeeze",
             .schema = "data, axes=None",
             .forms = {"onnx.Squeeze"},
             .view = true,
             .like = "squeeze",
             .kernel = squeeze});
  table.add({.name = "onnx.Unsqueeze",
             .schema = "data, axes",
             .forms = {"onnx.Unsqueeze"},
             .view = true,
             .like = "unsqueeze",
             .kernel = unsqueeze});
  table.add({.name = "onnx.Shape",
             .schema = "data, start=0, end=None",
             .forms = {"onnx.Shape"},
             .kernel = shape});
}

}  // namespace

void add_onnx_shape_operators(OperatorTable& table) {
  add_sizes(table);
  table.add({.name = "onnx.Transpose",
             .schema = "data, perm=None",
             .forms = {"onnx.Transpose"},
             .view = true,
             .like = "permute",
             .kernel = transpose});
  table.add({.name = "onnx.Trilu",
             .schema = "input, k=None, upper=1",
             .forms = {"onnx.Trilu"},
             .kernel = trilu});
  table.add({.name = "onnx.DepthToSpace",
             .schema = "input, blocksize, mode='DCR'",
             .forms = {"onnx.DepthToSpace"},
             .kernel = depth_to_space});
  table.add({.name = "onnx.SpaceToDepth",
             .schema = "input, blocksize",
             .forms = {"onnx.SpaceToDepth"},
             .kernel = space_to_depth});
  table.add({.name = "onnx.ReverseSequence",
             .schema = "input, sequence_lens, batch_axis=1, time_axis=0",
             .forms = {"onnx.ReverseSequence"},
             .kernel = reverse_sequence});
  table.add({.name = "onnx.Compress",
             .schema = "input, condition, axis=None",
             .forms = {"onnx.Compress"},
             .kernel = compress});
  table.add({.name = "onnx.Unique",
             .schema = "X, axis=None, sorted=1",
             .forms = {"onnx.Unique"},
             .kernel = unique});
}

}  // namespace sparsebit::fx
