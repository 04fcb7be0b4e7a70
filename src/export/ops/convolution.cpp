#include "export/ops/families.h"
#include "export/ops/padding.h"

#include <ATen/ATen.h>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

/// Input with a batch axis, which ONNX's convolutions require.
struct Batched {
  OnnxTensor x;
  bool added = false;

  Batched(Call& c, size_t spatial) : x(c.tensor("input")) {
    added = x.rank() == static_cast<int64_t>(spatial) + 1;
    if (added) x = c.w.unsqueeze(x, {0});
  }
  OnnxTensor restore(Call& c, const OnnxTensor& y) const { return added ? c.w.squeeze(y, {0}) : y; }
};

Ints kernel_of(Call& c, const OnnxTensor& weight) {
  if (weight.rank() < 3) c.unsupported("the weight has no kernel axes");
  Ints kernel(weight.shape->begin() + 2, weight.shape->end());
  for (const int64_t size : kernel) {
    if (size < 0) c.unsupported("the kernel's size is not fixed");
  }
  return kernel;
}

/// Paddings before and after each axis, as ONNX lists them.
Ints paddings(Call& c, size_t spatial, const Ints& kernel, const Ints& dilation) {
  Ints pads(2 * spatial, 0);
  const bool text = c.args()["padding"].is_string();
  if (text && c.text("padding") == "valid") return pads;
  const Ints given = text ? Ints(spatial, 0) : c.ints("padding", spatial);
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t total = text ? dilation[i] * (kernel[i] - 1) : 2 * given[i];
    pads[i] = total / 2;
    pads[i + spatial] = total - total / 2;
  }
  return pads;
}

std::optional<Shape> convolved(const OnnxTensor& x, const OnnxTensor& weight, const Ints& pads,
                               const Ints& stride, const Ints& dilation) {
  if (!x.shape) return std::nullopt;
  Shape shape = *x.shape;
  shape[1] = weight.size(0);
  const size_t spatial = stride.size();
  for (size_t i = 0; i < spatial; ++i) {
    int64_t& size = shape[i + 2];
    const int64_t reach = dilation[i] * (weight.size(static_cast<int64_t>(i) + 2) - 1) + 1;
    if (size >= 0) size = (size + pads[i] + pads[i + spatial] - reach) / stride[i] + 1;
  }
  return shape;
}

template <size_t N>
NodeResult convolution(Call& c) {
  const Batched batch(c, N);
  OnnxTensor x = batch.x;
  const OnnxTensor weight = c.tensor("weight"), bias = c.optional("bias");
  const Ints stride = c.ints("stride", N), dilation = c.ints("dilation", N);
  const Ints kernel = kernel_of(c, weight);
  Ints pads = paddings(c, N, kernel, dilation);
  const std::string mode = c.text("padding_mode");
  if (mode != "zeros") {
    x = pad_spatial(c, x, pads, mode);
    pads.assign(2 * N, 0);
  }
  const OnnxTensor y = c.w.op("Conv", {x, weight, bias},
                              {{"dilations", dilation},
                               {"group", c.integer("groups")},
                               {"kernel_shape", kernel},
                               {"pads", pads},
                               {"strides", stride}},
                              x.dtype, convolved(x, weight, pads, stride, dilation));
  return batch.restore(c, y);
}

template <size_t N>
Ints output_padding(Call& c, const OnnxTensor& x, const OnnxTensor& weight) {
  if (c.is_none("output_size")) return c.ints("output_padding", N);
  const Ints stride = c.ints("stride", N), padding = c.ints("padding", N);
  const Ints dilation = c.ints("dilation", N);
  Ints wanted = c.ints("output_size");
  if (wanted.size() > N) wanted.erase(wanted.begin(), wanted.end() - N);
  Ints result(N);
  for (size_t i = 0; i < N; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    if (x.size(axis) < 0) c.unsupported("output_size needs an input of fixed size");
    result[i] = wanted[i] - ((x.size(axis) - 1) * stride[i] - 2 * padding[i] +
                             dilation[i] * (weight.size(axis) - 1) + 1);
  }
  return result;
}

template <size_t N>
NodeResult transposed_convolution(Call& c) {
  const Batched batch(c, N);
  const OnnxTensor &x = batch.x, weight = c.tensor("weight"), bias = c.optional("bias");
  const Ints padding = c.ints("padding", N);
  const Ints stride = c.ints("stride", N), dilation = c.ints("dilation", N);
  const Ints extra = output_padding<N>(c, x, weight), kernel = kernel_of(c, weight);
  Ints pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  Shape shape = *x.shape;
  shape[1] = weight.size(1) * c.integer("groups");
  for (size_t i = 0; i < N; ++i) {
    int64_t& size = shape[i + 2];
    if (size >= 0)
      size = (size - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel[i] - 1) + 1 + extra[i];
  }
  const OnnxTensor y = c.w.op("ConvTranspose", {x, weight, bias},
                              {{"dilations", dilation},
                               {"group", c.integer("groups")},
                               {"kernel_shape", kernel},
                               {"output_padding", extra},
                               {"pads", pads},
                               {"strides", stride}},
                              x.dtype, shape);
  return batch.restore(c, y);
}

}  // namespace

void add_convolution_converters(Converters& table) {
  table.add("conv1d", convolution<1>);
  table.add("conv2d", convolution<2>);
  table.add("conv3d", convolution<3>);
  table.add("conv_transpose1d", transposed_convolution<1>);
  table.add("conv_transpose2d", transposed_convolution<2>);
  table.add("conv_transpose3d", transposed_convolution<3>);
}

}  // namespace sparsebit::exports
