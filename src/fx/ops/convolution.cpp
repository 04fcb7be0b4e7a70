#include "fx/ops/families.h"
#include "fx/ops/module_state.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::fx {
namespace {

using Ints = std::vector<int64_t>;

constexpr const char* kConvolution =
    "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, padding_mode='zeros'";
constexpr const char* kTransposed =
    "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, "
    "padding_mode='zeros', output_size=None";

void check_padding_mode(const std::string& mode) {
  SPARSEBIT_CHECK(mode == "zeros" || mode == "reflect" || mode == "replicate" || mode == "circular",
                  InvalidArgument,
                  "padding_mode must be 'zeros', 'reflect', 'replicate' or 'circular', got '", mode,
                  "'");
}

/// Total padding of one axis for 'same'.
int64_t same_total(const Args& a, size_t axis, const Ints& dilation) {
  const at::Tensor weight = a.tensor("weight");
  return dilation[axis] * (weight.size(static_cast<int64_t>(axis) + 2) - 1);
}

/// Amounts for at::pad, which counts from the last axis.
template <size_t N>
Ints explicit_padding(const Args& a) {
  Ints amounts(2 * N, 0);
  const bool text = a["padding"].is_string();
  const std::string name = text ? a.text("padding") : "";
  SPARSEBIT_CHECK(!text || name == "same" || name == "valid", InvalidArgument,
                  "padding must be ints, 'same' or 'valid', got '", name, "'");
  if (name == "valid") return amounts;
  const Ints padding = text ? Ints(N, 0) : a.ints("padding", N), dilation = a.ints("dilation", N);
  for (size_t axis = 0; axis < N; ++axis) {
    const int64_t total = text ? same_total(a, axis, dilation) : 2 * padding[axis];
    const size_t left = 2 * (N - 1 - axis);
    amounts[left] = total / 2;
    amounts[left + 1] = total - total / 2;
  }
  return amounts;
}

/// `conv` is at::convNd, callable with integer and with text padding.
template <size_t N, class Conv>
Value convolution(const Args& a, Conv conv) {
  const at::Tensor x = a.tensor("input"), weight = a.tensor("weight");
  const auto bias = a.optional_tensor("bias");
  const Ints stride = a.ints("stride", N), dilation = a.ints("dilation", N);
  const int64_t groups = a.integer("groups");
  const std::string mode = a.text("padding_mode");
  check_padding_mode(mode);
  if (mode != "zeros") {
    SPARSEBIT_CHECK(a["padding"] != Value("same") || stride == Ints(N, 1), InvalidArgument,
                    "padding='same' is not supported for strided convolutions");
    const at::Tensor padded = at::pad(x, explicit_padding<N>(a), mode);
    return conv(padded, weight, bias, stride, Ints(N, 0), dilation, groups);
  }
  if (a["padding"].is_string()) {
    return conv(x, weight, bias, stride, a.text("padding"), dilation, groups);
  }
  return conv(x, weight, bias, stride, a.ints("padding", N), dilation, groups);
}

/// The output_padding that leads to the requested output_size.
template <size_t N>
Ints output_padding(const Args& a) {
  if (a.is_none("output_size")) return a.ints("output_padding", N);
  const at::Tensor x = a.tensor("input"), weight = a.tensor("weight");
  const Ints stride = a.ints("stride", N), padding = a.ints("padding", N);
  const Ints dilation = a.ints("dilation", N);
  const int64_t leading = x.dim() - static_cast<int64_t>(N);
  SPARSEBIT_CHECK(leading == 1 || leading == 2, InvalidArgument, "expected ", N + 1, "-D or ",
                  N + 2, "-D input, got ", x.dim(), "-D");
  Ints wanted = a.ints("output_size");
  if (static_cast<int64_t>(wanted.size()) == x.dim()) {
    wanted.erase(wanted.begin(), wanted.begin() + leading);
  }
  SPARSEBIT_CHECK(wanted.size() == N, InvalidArgument, "output_size must have ", N, " or ", x.dim(),
                  " elements for a ", x.dim(), "-D input, got ", wanted.size());
  Ints result(N);
  for (size_t i = 0; i < N; ++i) {
    const auto axis = static_cast<int64_t>(i);
    const int64_t smallest = (x.size(leading + axis) - 1) * stride[i] - 2 * padding[i] +
                             dilation[i] * (weight.size(axis + 2) - 1) + 1;
    result[i] = wanted[i] - smallest;
    SPARSEBIT_CHECK(result[i] >= 0 && result[i] < stride[i], InvalidArgument, "output_size ",
                    wanted[i], " of axis ", i, " is out of range; it can be ", smallest, " to ",
                    smallest + stride[i] - 1);
  }
  return result;
}

template <size_t N, class Conv>
Value transposed_convolution(const Args& a, Conv conv) {
  SPARSEBIT_CHECK(a.text("padding_mode") == "zeros", InvalidArgument,
                  "padding_mode must be 'zeros' for a transposed convolution, got '",
                  a.text("padding_mode"), "'");
  return conv(a.tensor("input"), a.tensor("weight"), a.optional_tensor("bias"), a.ints("stride", N),
              a.ints("padding", N), output_padding<N>(a), a.integer("groups"),
              a.ints("dilation", N));
}

template <size_t N, bool Transposed>
ModuleState new_state(const Args& a, const MaybeGenerator& generator) {
  const int64_t in = a.integer("in_channels"), out = a.integer("out_channels");
  const int64_t groups = a.integer("groups");
  SPARSEBIT_CHECK(groups > 0 && in % groups == 0 && out % groups == 0, InvalidArgument,
                  "groups must divide in_channels and out_channels, got groups=", groups,
                  ", in_channels=", in, ", out_channels=", out);
  check_padding_mode(a.text("padding_mode"));
  Ints shape = Transposed ? Ints{in, out / groups} : Ints{out, in / groups};
  const Ints kernel = a.ints("kernel_size", N);
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  const auto bias_size = a.flag("bias") ? std::optional(out) : std::nullopt;
  return {weight_and_bias(shape, bias_size, generator), {}};
}

template <size_t N>
ModuleForm conv_module(const char* type) {
  return {.type = type,
          .constructor =
              "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, "
              "groups=1, bias=True, padding_mode='zeros'",
          .init = new_state<N, false>,
          .descriptive = {"in_channels", "out_channels", "kernel_size"}};
}

template <size_t N>
ModuleForm transposed_module(const char* type) {
  return {.type = type,
          .constructor =
              "in_channels, out_channels, kernel_size, stride=1, padding=0, "
              "output_padding=0, groups=1, bias=True, dilation=1, padding_mode='zeros'",
          .forward = "input, output_size=None",
          .init = new_state<N, true>,
          .descriptive = {"in_channels", "out_channels", "kernel_size"}};
}

}  // namespace

void add_convolution_operators(OperatorTable& table) {
  table.add({.name = "conv1d",
             .schema = kConvolution,
             .forms = {"torch.conv1d", "torch.nn.functional.conv1d"},
             .modules = {conv_module<1>("torch.nn.Conv1d")},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .growth = Growth::Sizes,
             .weight = WeightFacts{.spatial_axes = 1},
             .kernel = [](const Args& a) {
               return convolution<1>(a, [](const auto&... x) { return at::conv1d(x...); });
             }});
  table.add({.name = "conv2d",
             .schema = kConvolution,
             .forms = {"torch.conv2d", "torch.nn.functional.conv2d"},
             .modules = {conv_module<2>("torch.nn.Conv2d")},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .growth = Growth::Sizes,
             .weight = WeightFacts{.spatial_axes = 2},
             .kernel = [](const Args& a) {
               return convolution<2>(a, [](const auto&... x) { return at::conv2d(x...); });
             }});
  table.add({.name = "conv3d",
             .schema = kConvolution,
             .forms = {"torch.conv3d", "torch.nn.functional.conv3d"},
             .modules = {conv_module<3>("torch.nn.Conv3d")},
             .keeps_rank = true,
             .elements = Elements::OfOperands,
             .growth = Growth::Sizes,
             .weight = WeightFacts{.spatial_axes = 3},
             .kernel = [](const Args& a) {
               return convolution<3>(a, [](const auto&... x) { return at::conv3d(x...); });
             }});
  table.add(
      {.name = "conv_transpose1d",
       .schema = kTransposed,
       .forms = {"torch.conv_transpose1d", "torch.nn.functional.conv_transpose1d"},
       .modules = {transposed_module<1>("torch.nn.ConvTranspose1d")},
       .keeps_rank = true,
       .elements = Elements::OfOperands,
       .growth = Growth::Sizes,
       .weight = WeightFacts{.output_axis = 1, .input_axis = 0, .spatial_axes = 1},
       .kernel = [](const Args& a) { return transposed_convolution<1>(a, at::conv_transpose1d); }});
  table.add(
      {.name = "conv_transpose2d",
       .schema = kTransposed,
       .forms = {"torch.conv_transpose2d", "torch.nn.functional.conv_transpose2d"},
       .modules = {transposed_module<2>("torch.nn.ConvTranspose2d")},
       .keeps_rank = true,
       .elements = Elements::OfOperands,
       .growth = Growth::Sizes,
       .weight = WeightFacts{.output_axis = 1, .input_axis = 0, .spatial_axes = 2},
       .kernel = [](const Args& a) { return transposed_convolution<2>(a, at::conv_transpose2d); }});
  table.add(
      {.name = "conv_transpose3d",
       .schema = kTransposed,
       .forms = {"torch.conv_transpose3d", "torch.nn.functional.conv_transpose3d"},
       .modules = {transposed_module<3>("torch.nn.ConvTranspose3d")},
       .keeps_rank = true,
       .elements = Elements::OfOperands,
       .growth = Growth::Sizes,
       .weight = WeightFacts{.output_axis = 1, .input_axis = 0, .spatial_axes = 3},
       .kernel = [](const Args& a) { return transposed_convolution<3>(a, at::conv_transpose3d); }});
}

}  // namespace sparsebit::fx
