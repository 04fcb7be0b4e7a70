#include "export/ops/families.h"
#include "export/ops/pooling.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

/// The window of one output element on an axis.
struct Part {
  int64_t first, last;  // [first, last)
};

Part part_of(int64_t o, int64_t count, int64_t size) {
  return {o * size / count, ((o + 1) * size + count - 1) / count};
}

/// The requested output size, -1 where None keeps the axis.
template <size_t N>
Ints wanted_size(Call& c) {
  const fx::Value& value = c.args()["output_size"];
  if (!value.is_sequence()) return c.ints("output_size", N);
  Ints size;
  for (const fx::Value& item : value.items()) size.push_back(item.is_none() ? -1 : item.to_int());
  return size;
}

bool all_ones(const Ints& size) {
  return std::all_of(size.begin(), size.end(), [](int64_t s) { return s == 1; });
}

/// Kernel and stride if all windows have the same length.
std::optional<Window> regular_window(const OnnxTensor& x, const Ints& size) {
  Window window;
  const auto axes = static_cast<int64_t>(size.size());
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t found = x.size(i - axes), wanted = size[static_cast<size_t>(i)];
    if (wanted >= 0 && (found < 0 || wanted == 0 || found % wanted != 0)) return std::nullopt;
    window.kernel.push_back(wanted < 0 ? 1 : found / wanted);
  }
  window.stride = window.kernel;
  window.padding = Ints(size.size(), 0);
  window.dilation = Ints(size.size(), 1);
  return window;
}

int64_t fixed_size(Call& c, const OnnxTensor& x, int64_t axis) {
  if (x.size(axis) < 0)
    c.unsupported("adaptive pooling to more than one element needs an input of fixed size");
  return x.size(axis);
}

/// Column o has the weights of the elements that output o averages.
at::Tensor averaging_matrix(int64_t count, int64_t size, at::ScalarType dtype) {
  at::Tensor matrix = at::zeros({size, count}, dtype);
  for (int64_t o = 0; o < count; ++o) {
    const Part part = part_of(o, count, size);
    matrix.slice(0, part.first, part.last)
        .select(1, o)
        .fill_(1.0 / static_cast<double>(part.last - part.first));
  }
  return matrix;
}

template <size_t N>
NodeResult adaptive_avg_pool(Call& c) {
  const OnnxTensor given = c.tensor("input");
  const bool added = given.rank() == static_cast<int64_t>(N) + 1;
  const OnnxTensor x = added ? c.w.unsqueeze(given, {0}) : given;
  const OnnxTensor y = adaptive_average(c, x, wanted_size<N>(c));
  return added ? c.w.squeeze(y, {0}) : y;
}

/// For each output, the positions of its window in the plane; shorter windows repeat their last.
at::Tensor position_table(Call& c, const OnnxTensor& x, const Ints& size) {
  at::Tensor table = at::zeros({1, 1}, at::kLong);  // [outputs, positions]
  const auto axes = static_cast<int64_t>(size.size());
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t found = fixed_size(c, x, i - axes);
    const int64_t count = size[static_cast<size_t>(i)] < 0 ? found : size[static_cast<size_t>(i)];
    int64_t longest = 0;
    for (int64_t o = 0; o < count; ++o) {
      const Part part = part_of(o, count, found);
      longest = std::max(longest, part.last - part.first);
    }
    at::Tensor line = at::empty({count, longest}, at::kLong);
    for (int64_t o = 0; o < count; ++o) {
      const Part part = part_of(o, count, found);
      for (int64_t k = 0; k < longest; ++k) line[o][k] = std::min(part.first + k, part.last - 1);
    }
    // [O, 1, P, 1] * found + [1, count, 1, longest]
    table = (table.unsqueeze(1).unsqueeze(3) * found + line.unsqueeze(0).unsqueeze(2))
                .reshape({table.size(0) * count, table.size(1) * longest});
  }
  return table;
}

/// Windows of different length: gathers the elements of each, then takes the maximum.
std::vector<OnnxTensor> irregular_maximum(Call& c, const OnnxTensor& x, const Ints& size,
                                          bool indices) {
  GraphWriter& w = c.w;
  const at::Tensor table = position_table(c, x, size);
  const OnnxTensor flat = w.reshape(x, Shape{0, 0, -1});
  const OnnxTensor parts = w.gather(flat, w.constant(table), 2);
  Shape shape = {0, 0};
  const auto axes = static_cast<int64_t>(size.size());
  for (int64_t i = 0; i < axes; ++i) {
    const int64_t wanted = size[static_cast<size_t>(i)];
    shape.push_back(wanted < 0 ? x.size(i - axes) : wanted);
  }
  std::vector<OnnxTensor> found = {w.reshape(w.reduce("ReduceMax", parts, {3}, false), shape)};
  if (!indices) return found;
  const OnnxTensor within = w.argument("ArgMax", parts, 3, false);
  const OnnxTensor rows = w.constant(at::arange(table.size(0), at::kLong) * table.size(1));
  const OnnxTensor positions = w.gather(w.constant(table.reshape(-1)), w.add(within, rows), 0);
  found.push_back(w.reshape(positions, shape));
  return found;
}

template <size_t N>
NodeResult adaptive_max_pool(Call& c) {
  const OnnxTensor given = c.tensor("input");
  const bool added = given.rank() == static_cast<int64_t>(N) + 1,
             indices = c.flag("return_indices");
  const OnnxTensor x = added ? c.w.unsqueeze(given, {0}) : given;
  const Ints size = wanted_size<N>(c);
  std::vector<OnnxTensor> found;
  if (all_ones(size) && !indices) {
    Shape shape = *x.shape;
    std::fill(shape.begin() + 2, shape.end(), 1);
    found = {c.w.op("GlobalMaxPool", {x}, {}, x.dtype, shape)};
  } else if (const auto window = regular_window(x, size)) {
    found = maximum_pool(c, x, *window, indices);
  } else {
    found = irregular_maximum(c, x, size, indices);
  }
  if (added) {
    for (OnnxTensor& sym : found) sym = c.w.squeeze(sym, {0});
  }
  if (!indices) return found[0];
  return NodeResult::sequence({found[0], found[1]});
}

}  // namespace

OnnxTensor adaptive_average(Call& c, const OnnxTensor& x, const std::vector<int64_t>& size) {
  GraphWriter& w = c.w;
  if (all_ones(size)) {
    Shape shape = *x.shape;
    std::fill(shape.begin() + 2, shape.end(), 1);
    return w.op("GlobalAveragePool", {x}, {}, x.dtype, shape);
  }
  if (const auto window = regular_window(x, size)) return average_pool(c, x, *window, false);
  OnnxTensor y = x;
  const auto axes = static_cast<int64_t>(size.size());
  for (int64_t i = 0; i < axes; ++i) {  // one axis after the other
    const int64_t wanted = size[static_cast<size_t>(i)];
    if (wanted < 0 || wanted == x.size(i - axes)) continue;
    const at::Tensor matrix = averaging_matrix(wanted, fixed_size(c, x, i - axes), x.dtype);
    y = w.swap(w.matmul(w.swap(y, i - axes, -1), w.constant(matrix)), i - axes, -1);
  }
  return y;
}

void add_adaptive_pooling_converters(Converters& table) {
  table.add("adaptive_avg_pool1d", adaptive_avg_pool<1>);
  table.add("adaptive_avg_pool2d", adaptive_avg_pool<2>);
  table.add("adaptive_avg_pool3d", adaptive_avg_pool<3>);
  table.add("adaptive_max_pool1d", adaptive_max_pool<1>);
  table.add("adaptive_max_pool2d", adaptive_max_pool<2>);
  table.add("adaptive_max_pool3d", adaptive_max_pool<3>);
}

}  // namespace sparsebit::exports
