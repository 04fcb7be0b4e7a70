#include "export/ops/pooling.h"

#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

template <size_t N>
Window window_of(Call& c, bool dilated) {
  Window w;
  w.kernel = c.ints("kernel_size", N);
  const fx::Value& stride = c.args()["stride"];
  const bool absent = stride.is_none() || (stride.is_sequence() && stride.items().empty());
  w.stride = absent ? w.kernel : c.ints("stride", N);
  const bool padded = c.args().has("padding");
  w.padding = padded ? c.ints("padding", N) : Ints(N, 0);
  w.dilation = dilated ? c.ints("dilation", N) : Ints(N, 1);
  w.ceil_mode = c.args().has("ceil_mode") && c.flag("ceil_mode");
  return w;
}

/// torch's output size: with ceil_mode the last window still starts inside the input or its left
/// padding.
int64_t pooled_size(const Window& w, size_t axis, int64_t size) {
  if (size < 0) return -1;
  const int64_t reach = w.dilation[axis] * (w.kernel[axis] - 1) + 1;
  const int64_t span = size + 2 * w.padding[axis] - reach;
  int64_t count = span / w.stride[axis] + 1;
  if (w.ceil_mode) {
    count = (span + w.stride[axis] - 1) / w.stride[axis] + 1;
    if ((count - 1) * w.stride[axis] >= size + w.padding[axis]) --count;
  }
  return count;
}

Shape pooled_shape(const OnnxTensor& x, const Window& w) {
  Shape shape = *x.shape;
  for (size_t i = 0; i < w.axes(); ++i) shape[i + 2] = pooled_size(w, i, shape[i + 2]);
  return shape;
}

/// Padding after each axis with which rounding down gives torch's output size. Nothing when a size
/// is dynamic.
std::optional<Ints> ends_for(const OnnxTensor& x, const Window& w) {
  Ints ends = w.padding;
  for (size_t i = 0; i < w.axes(); ++i) {
    const int64_t size = (*x.shape)[i + 2];
    if (!w.ceil_mode) continue;
    if (size < 0) return std::nullopt;
    const int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
    const int64_t needed =
        (pooled_size(w, i, size) - 1) * w.stride[i] + reach - size - w.padding[i];
    ends[i] = std::max(ends[i], needed);
  }
  return ends;
}

Ints joined(Ints a, const Ints& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// `pads` of the spatial axes for the whole tensor.
Ints whole(const Ints& starts, const Ints& ends) {
  Ints pads = {0, 0};
  pads.insert(pads.end(), starts.begin(), starts.end());
  pads.insert(pads.end(), {0, 0});
  pads.insert(pads.end(), ends.begin(), ends.end());
  return pads;
}

/// The divisor of each window, as torch counts elements.
at::Tensor counted(const OnnxTensor& x, const Window& w, bool count_include_pad) {
  at::Tensor counts = at::ones({1, 1}, at::kDouble);
  for (size_t i = 0; i < w.axes(); ++i) {
    const int64_t size = (*x.shape)[i + 2], number = pooled_size(w, i, size);
    at::Tensor line = at::empty({number}, at::kDouble);
    for (int64_t o = 0; o < number; ++o) {
      const int64_t start = o * w.stride[i] - w.padding[i];
      const int64_t stop = std::min(start + w.kernel[i], size + w.padding[i]);
      const int64_t inside = std::min(stop, size) - std::max<int64_t>(start, 0);
      line[o] = count_include_pad ? stop - start : inside;
    }
    counts = counts.unsqueeze(-1) * line;
  }
  return counts;
}

int64_t volume(const Ints& kernel) {
  int64_t product = 1;
  for (const int64_t size : kernel) product *= size;
  return product;
}

template <size_t N>
OnnxTensor batched(Call& c, const OnnxTensor& x) {
  return x.rank() == static_cast<int64_t>(N) + 1 ? c.w.unsqueeze(x, {0}) : x;
}

OnnxTensor unbatched(Call& c, const OnnxTensor& y, const OnnxTensor& like) {
  return y.rank() == like.rank() ? y : c.w.squeeze(y, {0});
}

template <size_t N>
NodeResult max_pool(Call& c) {
  const OnnxTensor given = c.tensor("input"), x = batched<N>(c, given);
  const bool indices = c.flag("return_indices");
  const std::vector<OnnxTensor> found = maximum_pool(c, x, window_of<N>(c, true), indices);
  if (!indices) return unbatched(c, found[0], given);
  return NodeResult::sequence({unbatched(c, found[0], given), unbatched(c, found[1], given)});
}

template <size_t N>
NodeResult avg_pool(Call& c) {
  const OnnxTensor given = c.tensor("input"), x = batched<N>(c, given);
  const bool overridden = c.args().has("divisor_override") && !c.is_none("divisor_override");
  const int64_t divisor = overridden ? c.integer("divisor_override") : 0;
  return unbatched(
      c, average_pool(c, x, window_of<N>(c, false), c.flag("count_include_pad"), divisor), given);
}

template <size_t N>
NodeResult lp_pool(Call& c) {
  const OnnxTensor given = c.tensor("input"), x = batched<N>(c, given);
  const double p = c.number("norm_type");
  const Window window = window_of<N>(c, false);
  GraphWriter& w = c.w;
  const OnnxTensor mean = average_pool(c, p == 2.0 ? w.mul(x, x) : w.pow(x, p), window, true);
  // sign(m) * relu(|m|) is m itself.
  const OnnxTensor sum = w.mul(mean, static_cast<double>(volume(window.kernel)));
  return unbatched(c, p == 2.0 ? w.unary("Sqrt", sum) : w.pow(sum, 1.0 / p), given);
}

template <size_t N>
Ints unpooled_size(Call& c, const OnnxTensor& x, const Window& w) {
  Ints size(N);
  for (size_t i = 0; i < N; ++i) {
    const int64_t pooled = x.size(static_cast<int64_t>(i) - static_cast<int64_t>(N));
    if (pooled < 0 && c.is_none("output_size")) c.unsupported("needs a fixed input size");
    size[i] = (pooled - 1) * w.stride[i] + w.kernel[i] - 2 * w.padding[i];
  }
  if (c.is_none("output_size")) return size;
  Ints wanted = c.ints("output_size");
  if (wanted.size() > N) wanted.erase(wanted.begin(), wanted.end() - N);
  return wanted;
}

/// Writes values to the positions within their plane that max pooling returned.
template <size_t N>
NodeResult max_unpool(Call& c) {
  const OnnxTensor given = c.tensor("input"), x = batched<N>(c, given);
  const OnnxTensor indices = batched<N>(c, c.tensor("indices"));
  const Ints size = unpooled_size<N>(c, x, window_of<N>(c, false));
  GraphWriter& w = c.w;
  const OnnxTensor leading = w.slice(w.shape_of(x), 0, 0, 2);
  const OnnxTensor plane = w.filled(w.concat({leading, w.ints({volume(size)})}, 0), 0.0, x.dtype);
  const OnnxTensor flat_x = w.reshape(x, Shape{0, 0, -1}),
                   flat_indices = w.reshape(indices, Shape{0, 0, -1});
  const OnnxTensor full = w.scatter_elements(
      {plane.name, x.dtype, Shape{x.size(0), x.size(1), volume(size)}}, flat_indices, flat_x, 2);
  return unbatched(c, w.reshape(full, joined({0, 0}, size)), given);
}

}  // namespace

std::vector<OnnxTensor> maximum_pool(Call& c, const OnnxTensor& given, const Window& window,
                                     bool with_indices) {
  const std::optional<Ints> ends = ends_for(given, window);
  OnnxTensor x = given;
  Ints starts = window.padding, stops = ends.value_or(window.padding);
  const bool fits = std::equal(stops.begin(), stops.end(), window.kernel.begin(), std::less<>());
  if (!fits) {  // runtimes reject padding as large as the kernel
    if (with_indices) c.unsupported("max pooling with indices and padding as large as the kernel");
    const OnnxTensor low = c.w.scalar(-std::numeric_limits<double>::infinity(), x.dtype);
    x = c.w.pad(x, whole(starts, stops), "constant", low);
    starts.assign(window.axes(), 0);
    stops = starts;
  }
  const Attrs attrs = {{"ceil_mode", window.ceil_mode && !ends},
                       {"dilations", window.dilation},
                       {"kernel_shape", window.kernel},
                       {"pads", joined(starts, stops)},
                       {"strides", window.stride}};
  std::vector<OnnxTensor> found = c.w.emit("MaxPool", {x}, attrs, with_indices ? 2 : 1);
  for (OnnxTensor& sym : found) sym.shape = pooled_shape(given, window);
  found[0].dtype = x.dtype;
  if (!with_indices) return found;
  found[1].dtype = at::kLong;
  // ONNX's positions are relative to the whole tensor, torch's to one plane.
  OnnxTensor plane = c.w.ints({1});
  for (size_t i = 0; i < window.axes(); ++i)
    plane = c.w.mul(plane, c.w.size_of(given, static_cast<int64_t>(i) + 2));
  found[1] = c.w.op("Mod", {found[1], plane}, {}, at::kLong, found[1].shape);
  return found;
}

OnnxTensor average_pool(Call& c, const OnnxTensor& x, const Window& window, bool count_include_pad,
                        int64_t divisor) {
  const std::optional<Ints> ends = ends_for(x, window);
  GraphWriter& w = c.w;
  Attrs attrs = {{"kernel_shape", window.kernel}, {"strides", window.stride}};
  const Shape shape = pooled_shape(x, window);
  const auto elements = static_cast<double>(volume(window.kernel));
  const bool plain = ends && *ends == window.padding;
  if (plain || !ends) {
    attrs.emplace_back("ceil_mode", !ends);
    attrs.emplace_back("count_include_pad", count_include_pad || divisor != 0);
    attrs.emplace_back("pads", joined(window.padding, window.padding));
    const OnnxTensor mean = w.op("AveragePool", {x}, attrs, x.dtype, shape);
    return divisor == 0 ? mean : w.mul(mean, elements / static_cast<double>(divisor));
  }
  // Windows that reach beyond the padding have a smaller divisor.
  const OnnxTensor padded = w.pad(x, whole(window.padding, *ends), "constant");
  const OnnxTensor mean = w.op("AveragePool", {padded}, attrs, x.dtype, shape);
  if (divisor != 0) return w.mul(mean, elements / static_cast<double>(divisor));
  const at::Tensor counts = counted(x, window, count_include_pad);
  return w.mul(mean, w.constant(counts.reciprocal().mul(elements).to(x.dtype)));
}

void add_pooling_converters(Converters& table) {
  table.add("max_pool1d", max_pool<1>);
  table.add("max_pool2d", max_pool<2>);
  table.add("max_pool3d", max_pool<3>);
  table.add("avg_pool1d", avg_pool<1>);
  table.add("avg_pool2d", avg_pool<2>);
  table.add("avg_pool3d", avg_pool<3>);
  table.add("lp_pool1d", lp_pool<1>);
  table.add("lp_pool2d", lp_pool<2>);
  table.add("max_unpool1d", max_unpool<1>);
  table.add("max_unpool2d", max_unpool<2>);
  table.add("max_unpool3d", max_unpool<3>);
}

}  // namespace sparsebit::exports
