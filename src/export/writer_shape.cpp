#include "export/writer.h"

#include "export/quantization.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace sparsebit::exports {
namespace {

std::vector<int64_t> content(const OnnxTensor& x) {
  const at::Tensor flat = x.constant.reshape(-1);
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

/// The shape of Reshape's result, with its rules for 0 and -1.
Shape reshaped(const OnnxTensor& x, Shape wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0) wanted[i] = x.shape && i < x.shape->size() ? (*x.shape)[i] : -1;
  }
  const auto open = std::count(wanted.begin(), wanted.end(), -1);
  if (open != 1 || !x.fixed()) return wanted;
  const int64_t known =
      -std::accumulate(wanted.begin(), wanted.end(), int64_t{1}, std::multiplies<int64_t>());
  const int64_t total =
      std::accumulate(x.shape->begin(), x.shape->end(), int64_t{1}, std::multiplies<int64_t>());
  if (known > 0) *std::find(wanted.begin(), wanted.end(), -1) = total / known;
  return wanted;
}

/// The number of elements in x[start:stop:step]; bounds may be out of range.
int64_t sliced_size(int64_t size, int64_t start, int64_t stop, int64_t step) {
  if (size < 0) return -1;
  const auto clamp = [&](int64_t bound, int64_t low, int64_t high) {
    return std::clamp(bound < 0 ? bound + size : bound, low, high);
  };
  if (step > 0) {
    const int64_t first = clamp(start, 0, size), last = clamp(stop, 0, size);
    return std::max<int64_t>(0, (last - first + step - 1) / step);
  }
  const int64_t first = clamp(start, 0, size - 1);
  const int64_t last = stop < -size ? -1 : clamp(stop, -1, size - 1);
  return std::max<int64_t>(0, (first - last - step - 1) / -step);
}

}  // namespace

OnnxTensor GraphWriter::shape_of(const OnnxTensor& x) {
  if (x.fixed()) return ints(*x.shape);
  std::optional<Shape> shape;
  if (x.shape) shape = Shape{x.rank()};
  return op("Shape", {x}, {}, at::kLong, shape);
}

OnnxTensor GraphWriter::size_of(const OnnxTensor& x, int64_t dim) {
  if (x.size(dim) >= 0) return ints({x.size(dim)});
  return gather(op("Shape", {x}, {}, at::kLong, Shape{x.rank()}), ints({x.axis(dim)}), 0);
}

OnnxTensor GraphWriter::numel_of(const OnnxTensor& x) {
  return op("Size", {x}, {}, at::kLong, Shape{});
}

OnnxTensor GraphWriter::reshape(const OnnxTensor& x, const OnnxTensor& shape) {
  std::optional<Shape> result;
  if (shape.constant.defined()) {
    result = reshaped(x, content(shape));
    const auto zeros = content(shape);
    const bool keeps_zero = opset_ >= 14 && x.fixed() &&
                            std::find(x.shape->begin(), x.shape->end(), 0) != x.shape->end() &&
                            std::find(zeros.begin(), zeros.end(), 0) != zeros.end();
    if (keeps_zero) return op("Reshape", {x, shape}, {{"allowzero", 1}}, x.dtype, zeros);
  } else if (shape.shape && shape.size(0) >= 0) {
    result = Shape(static_cast<size_t>(shape.size(0)), -1);
  }
  return op("Reshape", {x, shape}, {}, x.dtype, result);
}

OnnxTensor GraphWriter::transpose(const OnnxTensor& x, std::vector<int64_t> order) {
  Shape shape;
  bool same = true;
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = x.axis(order[i]);
    shape.push_back(x.size(order[i]));
    same &= order[i] == static_cast<int64_t>(i);
  }
  if (same) return x;
  if (const std::optional<OnnxTensor> integers = transposed_integers(*this, x, order))
    return *integers;
  return op("Transpose", {x}, {{"perm", order}}, x.dtype, shape);
}

OnnxTensor GraphWriter::swap(const OnnxTensor& x, int64_t a, int64_t b) {
  std::vector<int64_t> order(static_cast<size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  if (order.empty()) return x;
  std::swap(order[static_cast<size_t>(x.axis(a))], order[static_cast<size_t>(x.axis(b))]);
  return transpose(x, order);
}

OnnxTensor GraphWriter::unsqueeze(const OnnxTensor& x, std::vector<int64_t> axes) {
  if (axes.empty()) return x;
  std::optional<Shape> shape;
  if (x.shape) {
    const auto rank = static_cast<int64_t>(x.shape->size() + axes.size());
    for (int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
    std::sort(axes.begin(), axes.end());
    shape = x.shape;
    for (const int64_t axis : axes) shape->insert(shape->begin() + axis, 1);
  }
  if (opset_ < 13) return op("Unsqueeze", {x}, {{"axes", axes}}, x.dtype, shape);
  return op("Unsqueeze", {x, ints(axes)}, {}, x.dtype, shape);
}

OnnxTensor GraphWriter::squeeze(const OnnxTensor& x, std::vector<int64_t> axes) {
  if (axes.empty()) return x;
  std::optional<Shape> shape;
  if (x.shape) {
    for (int64_t& axis : axes) axis = x.axis(axis);
    std::sort(axes.begin(), axes.end());
    shape = x.shape;
    for (auto it = axes.rbegin(); it != axes.rend(); ++it) shape->erase(shape->begin() + *it);
  }
  if (opset_ < 13) return op("Squeeze", {x}, {{"axes", axes}}, x.dtype, shape);
  return op("Squeeze", {x, ints(axes)}, {}, x.dtype, shape);
}

OnnxTensor GraphWriter::expand(const OnnxTensor& x, const OnnxTensor& shape) {
  std::optional<Shape> result;
  if (shape.constant.defined()) {
    result = broadcast(x.shape, content(shape));
    if (x.shape && result == x.shape && x.fixed()) return x;
  }
  return op("Expand", {x, shape}, {}, x.dtype, result);
}

OnnxTensor GraphWriter::tile(const OnnxTensor& x, const OnnxTensor& repeats) {
  std::optional<Shape> shape;
  if (repeats.constant.defined() && x.shape) {
    shape = x.shape;
    const std::vector<int64_t> counts = content(repeats);
    for (size_t i = 0; i < counts.size(); ++i) {
      int64_t& size = (*shape)[i];
      if (size >= 0) size *= counts[i];
    }
  } else if (x.shape) {
    shape = Shape(x.shape->size(), -1);
  }
  return op("Tile", {x, repeats}, {}, x.dtype, shape);
}

OnnxTensor GraphWriter::concat(const std::vector<OnnxTensor>& xs, int64_t axis) {
  if (xs.size() == 1) return xs[0];
  const auto is_shape = [](const OnnxTensor& x) {
    return x.constant.defined() && x.dtype == at::kLong && x.constant.numel() <= 16;
  };
  if (std::all_of(xs.begin(), xs.end(), is_shape)) {  // parts of a shape, all constant
    std::vector<at::Tensor> parts;
    for (const OnnxTensor& x : xs) parts.push_back(x.constant);
    return constant(at::cat(parts, axis));
  }
  std::optional<Shape> shape = xs[0].shape;
  if (shape) {
    axis = xs[0].axis(axis);
    int64_t total = 0;
    for (const OnnxTensor& x : xs) {
      const int64_t size = x.shape ? x.size(axis) : -1;
      total = size < 0 || total < 0 ? -1 : total + size;
    }
    (*shape)[static_cast<size_t>(axis)] = total;
  }
  return op("Concat", xs, {{"axis", axis}}, xs[0].dtype, shape);
}

std::vector<OnnxTensor> GraphWriter::split(const OnnxTensor& x, const std::vector<int64_t>& sizes,
                                           int64_t axis) {
  axis = x.axis(axis);
  std::vector<OnnxTensor> parts =
      opset_ < 13 ? emit("Split", {x}, {{"axis", axis}, {"split", sizes}}, sizes.size())
                  : emit("Split", {x, ints(sizes)}, {{"axis", axis}}, sizes.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].dtype = x.dtype;
    parts[i].shape = x.shape;
    (*parts[i].shape)[static_cast<size_t>(axis)] = sizes[i];
  }
  return parts;
}

OnnxTensor GraphWriter::slice(const OnnxTensor& x, int64_t axis, const OnnxTensor& start,
                              const OnnxTensor& stop, int64_t step) {
  std::optional<Shape> shape = x.shape;
  if (shape) {
    axis = x.axis(axis);
    const bool known = start.constant.defined() && stop.constant.defined();
    int64_t& size = (*shape)[static_cast<size_t>(axis)];
    size = known ? sliced_size(size, content(start)[0], content(stop)[0], step) : -1;
  }
  return op("Slice", {x, start, stop, ints({axis}), ints({step})}, {}, x.dtype, shape);
}

OnnxTensor GraphWriter::slice(const OnnxTensor& x, int64_t axis, int64_t start, int64_t stop,
                              int64_t step) {
  return slice(x, axis, ints({start}), ints({stop}), step);
}

OnnxTensor GraphWriter::flip(const OnnxTensor& x, int64_t axis) {
  return slice(x, axis, -1, std::numeric_limits<int64_t>::min(), -1);
}

OnnxTensor GraphWriter::pad(const OnnxTensor& x, const OnnxTensor& pads, const std::string& mode,
                            const OnnxTensor& value) {
  std::optional<Shape> shape = x.shape;
  if (shape && pads.constant.defined()) {
    const std::vector<int64_t> amounts = content(pads);
    for (size_t i = 0; i < shape->size(); ++i) {
      int64_t& size = (*shape)[i];
      if (size >= 0) size += amounts[i] + amounts[i + shape->size()];
    }
  } else if (shape) {
    shape = Shape(shape->size(), -1);
  }
  return op("Pad", {x, pads, value}, {{"mode", mode}}, x.dtype, shape);
}

}  // namespace sparsebit::exports
