#include "export/ops/elementwise.h"
#include "export/ops/families.h"

#include <ATen/ATen.h>

#include <numeric>

namespace sparsebit::exports {
namespace {

/// [C] as [C, 1, ..., 1], which broadcasts over axis 1 of an input of this rank.
OnnxTensor per_channel(GraphWriter& w, const OnnxTensor& values, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t i = 1; i < rank - 1; ++i) axes.push_back(i);
  return w.unsqueeze(values, axes);
}

OnnxTensor filled_channels(Call& c, double value, int64_t channels, at::ScalarType dtype) {
  if (channels < 0) c.unsupported("the number of channels is not fixed");
  return c.w.constant(at::full({channels}, value, dtype));
}

/// (x - mean) / sqrt(var + eps) over some axes of x itself.
OnnxTensor standardize(GraphWriter& w, const OnnxTensor& x, const std::vector<int64_t>& axes,
                       double eps) {
  const OnnxTensor centered = w.sub(x, w.reduce("ReduceMean", x, axes, true));
  const OnnxTensor variance = w.reduce("ReduceMean", w.mul(centered, centered), axes, true);
  return w.div(centered, w.unary("Sqrt", w.add(variance, eps)));
}

OnnxTensor scale_and_shift(Call& c, OnnxTensor y) {
  if (!c.is_none("weight")) y = c.w.mul(y, per_channel(c.w, c.tensor("weight"), y.rank()));
  if (!c.is_none("bias")) y = c.w.add(y, per_channel(c.w, c.tensor("bias"), y.rank()));
  return y;
}

NodeResult running_norm(Call& c, const OnnxTensor& x) {
  const int64_t channels = x.size(1);
  const OnnxTensor mean = c.tensor("running_mean"), variance = c.tensor("running_var");
  const OnnxTensor scale =
      c.is_none("weight") ? filled_channels(c, 1, channels, x.dtype) : c.tensor("weight");
  const OnnxTensor bias =
      c.is_none("bias") ? filled_channels(c, 0, channels, x.dtype) : c.tensor("bias");
  return c.w.op("BatchNormalization", {x, scale, bias, mean, variance},
                {{"epsilon", c.number("eps")}}, x.dtype, x.shape);
}

/// Eval mode: with running statistics if there are any, otherwise with those of the batch.
NodeResult batch_norm(Call& c) {
  const OnnxTensor x = c.tensor("input");
  if (!c.is_none("running_mean")) return running_norm(c, x);
  std::vector<int64_t> axes = {0};
  for (int64_t i = 2; i < x.rank(); ++i) axes.push_back(i);
  return scale_and_shift(c, standardize(c.w, x, axes, c.number("eps")));
}

NodeResult instance_norm(Call& c) {
  OnnxTensor x = c.tensor("input");
  const auto spatial = c.args().optional_integer("spatial_dims");
  const bool unbatched = spatial && x.rank() == *spatial + 1;
  if (unbatched) x = c.w.unsqueeze(x, {0});
  const bool in_module = !c.is_none("track_running_stats");
  const bool use_input = in_module ? !c.flag("track_running_stats") : c.flag("use_input_stats");
  OnnxTensor y;
  if (!use_input && !c.is_none("running_mean")) {
    y = c.sym(running_norm(c, x));
  } else if (x.size(1) >= 0) {
    const OnnxTensor scale =
        c.is_none("weight") ? filled_channels(c, 1, x.size(1), x.dtype) : c.tensor("weight");
    const OnnxTensor bias =
        c.is_none("bias") ? filled_channels(c, 0, x.size(1), x.dtype) : c.tensor("bias");
    y = c.w.op("InstanceNormalization", {x, scale, bias}, {{"epsilon", c.number("eps")}}, x.dtype,
               x.shape);
  } else {
    std::vector<int64_t> axes(static_cast<size_t>(x.rank() - 2));
    std::iota(axes.begin(), axes.end(), 2);
    y = scale_and_shift(c, standardize(c.w, x, axes, c.number("eps")));
  }
  return unbatched ? c.w.squeeze(y, {0}) : y;
}

NodeResult layer_norm(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const std::vector<int64_t> shape = c.ints("normalized_shape");
  const auto count = static_cast<int64_t>(shape.size());
  const double eps = c.number("eps");
  if (c.w.opset() >= 17) {
    const OnnxTensor scale =
        c.is_none("weight") ? c.w.constant(at::ones(shape, x.dtype)) : c.tensor("weight");
    return c.w.op("LayerNormalization", {x, scale, c.optional("bias")},
                  {{"axis", -count}, {"epsilon", eps}}, x.dtype, x.shape);
  }
  std::vector<int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), -count);
  OnnxTensor y = standardize(c.w, x, axes, eps);
  if (!c.is_none("weight")) y = c.w.mul(y, c.tensor("weight"));
  if (!c.is_none("bias")) y = c.w.add(y, c.tensor("bias"));
  return y;
}

/// Exported as an instance norm with one channel per group.
NodeResult group_norm(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t groups = c.integer("num_groups");
  const OnnxTensor grouped = c.w.reshape(x, Shape{0, groups, -1});
  const OnnxTensor normed = c.w.op(
      "InstanceNormalization",
      {grouped, filled_channels(c, 1, groups, x.dtype), filled_channels(c, 0, groups, x.dtype)},
      {{"epsilon", c.number("eps")}}, x.dtype, grouped.shape);
  OnnxTensor y = c.w.reshape(normed, c.w.shape_of(x));
  y.shape = x.shape;
  return scale_and_shift(c, y);
}

NodeResult local_response_norm(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t size = c.integer("size");
  // For even sizes, torch's window has one more channel before the centre, ONNX's one more after
  // it.
  if (size % 2 == 1 && x.rank() == 4) {
    return c.w.op("LRN", {x},
                  {{"alpha", c.number("alpha")},
                   {"beta", c.number("beta")},
                   {"bias", c.number("k")},
                   {"size", size}},
                  x.dtype, x.shape);
  }
  GraphWriter& w = c.w;
  std::vector<int64_t> pads(static_cast<size_t>(2 * x.rank()), 0);
  pads[1] = size / 2;
  pads[static_cast<size_t>(x.rank()) + 1] = (size - 1) / 2;
  const OnnxTensor squares = w.pad(w.mul(x, x), pads, "constant");
  const int64_t channels = x.size(1);
  if (channels < 0) c.unsupported("the number of channels is not fixed");
  OnnxTensor sum;
  for (int64_t i = 0; i < size; ++i) {
    const OnnxTensor shifted = w.slice(squares, 1, i, i + channels);
    sum = sum.present() ? w.add(sum, shifted) : shifted;
  }
  const OnnxTensor mean = w.mul(sum, c.number("alpha") / static_cast<double>(size));
  return w.div(x, w.pow(w.add(mean, c.number("k")), c.number("beta")));
}

}  // namespace

void add_norm_converters(Converters& table) {
  table.add("batch_norm", batch_norm);
  table.add("instance_norm", instance_norm);
  table.add("layer_norm", layer_norm);
  table.add("group_norm", group_norm);
  table.add("local_response_norm", local_response_norm);
}

}  // namespace sparsebit::exports
