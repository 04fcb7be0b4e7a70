#include "quant/rounding/layer_matrix.h"

#include <ATen/ATen.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <array>

namespace sparsebit::quant {
namespace {

constexpr std::array kOptions = {"stride", "padding",     "output_padding", "dilation",
                                 "groups", "output_size", "padding_mode"};

}  // namespace

bool LayerMatrix::fits(const fx::OperatorCall& call) {
  if (!call.op->weight || call.op->weight->looks_up) return false;
  return std::none_of(kOptions.begin(), kOptions.end(), [&](const char* name) {
    return call.args.has(name) && call.args[name].contains_node();
  });
}

LayerMatrix::LayerMatrix(const fx::OperatorCall& call, const at::Tensor& weight)
    : call_(call), shape_(weight.sizes().vec()), transposed_(call.op->weight->transposed()) {
  if (call.args.has("groups")) groups_ = call.args["groups"].to_int();
}

at::Tensor LayerMatrix::grouped(const at::Tensor& weight) const {
  const at::Tensor split = weight.reshape({groups_, shape_[0] / groups_, shape_[1], -1});
  return (transposed_ ? split.transpose(1, 2) : split).flatten(2);
}

at::Tensor LayerMatrix::ungrouped(const at::Tensor& matrix) const {
  if (!transposed_) return matrix.reshape(shape_);
  return matrix.reshape({groups_, shape_[1], shape_[0] / groups_, -1})
      .transpose(1, 2)
      .reshape(shape_);
}

int64_t LayerMatrix::batch_of(const at::Tensor& input) const {
  const int64_t axes = call_.op->weight->spatial_axes;
  const bool is_batched = axes == 0 ? input.dim() > 1 : input.dim() == axes + 2;
  return is_batched ? input.size(0) : 1;
}

at::Tensor LayerMatrix::rows(const at::Tensor& input) const {
  if (call_.op->weight->spatial_axes == 0) return input.reshape({1, -1, shape_[1]});
  const at::Tensor copied = rows_by_copy(input);
  return copied.defined() ? copied : rows_by_convolution(input);
}

/// By im2col: of convolutions over one or two axes with zeros around them. Undefined for others.
at::Tensor LayerMatrix::rows_by_copy(const at::Tensor& input) const {
  const fx::Args& args = call_.args;
  const auto axes = static_cast<size_t>(call_.op->weight->spatial_axes);
  const bool pads_zeros = !args.has("padding_mode") || args.text("padding_mode") == "zeros";
  if (transposed_ || axes > 2 || !pads_zeros || args["padding"].is_string()) return {};
  at::Tensor image = input.dim() == static_cast<int64_t>(axes) + 1 ? input.unsqueeze(0) : input;
  std::vector<int64_t> kernel(shape_.begin() + 2, shape_.end());
  auto dilation = args.ints("dilation", axes), padding = args.ints("padding", axes),
       stride = args.ints("stride", axes);
  if (axes == 1) {  // an image of one line
    image = image.unsqueeze(2);
    for (std::vector<int64_t>* sizes : {&kernel, &dilation, &stride})
      sizes->insert(sizes->begin(), 1);
    padding.insert(padding.begin(), 0);
  }
  return by_group(at::im2col(image, kernel, dilation, padding, stride));
}

/// [batch, groups * inputs, positions] as [groups, batch * positions, inputs].
at::Tensor LayerMatrix::by_group(const at::Tensor& columns) const {
  const int64_t batch = columns.size(0), positions = columns.size(2);
  return columns.reshape({batch, groups_, -1, positions})
      .permute({1, 0, 3, 2})
      .reshape({groups_, batch * positions, -1});
}

/// By the operator itself, with weights that each copy one input: for all kinds of convolutions.
at::Tensor LayerMatrix::rows_by_convolution(const at::Tensor& input) const {
  std::vector<fx::Value> values = call_.args.values();
  const fx::Schema& schema = call_.op->schema;
  values[*schema.find("input")] = input;
  values[*schema.find("weight")] = unit_weights();
  values[*schema.find("bias")] = fx::None();
  const at::Tensor result = fx::run_kernel(*call_.op, fx::Args(schema, std::move(values))).tensor();
  const bool batched = result.dim() == call_.op->weight->spatial_axes + 2;
  return by_group((batched ? result : result.unsqueeze(0)).flatten(2));
}

at::Tensor LayerMatrix::unit_weights() const {
  const int64_t channels = transposed_ ? shape_[0] / groups_ : shape_[1];
  std::vector<int64_t> shape = {groups_, 0, channels};
  shape.insert(shape.end(), shape_.begin() + 2, shape_.end());
  const int64_t inputs = channels * c10::multiply_integers(shape.begin() + 3, shape.end());
  shape[1] = inputs;
  const at::Tensor weights =
      at::eye(inputs).unsqueeze(0).expand({groups_, inputs, inputs}).reshape(shape);
  return (transposed_ ? weights.transpose(1, 2) : weights).flatten(0, 1).contiguous();
}

}  // namespace sparsebit::quant
