#include "frontends/onnx/ops/families.h"
#include "frontends/onnx/ops/window.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::frontends {
namespace {

using fx::Value;
using Ints = std::vector<int64_t>;

const char* conv_type(int64_t spatial, bool transposed) {
  static constexpr const char* plain[] = {"torch.nn.Conv1d", "torch.nn.Conv2d", "torch.nn.Conv3d"};
  static constexpr const char* turned[] = {"torch.nn.ConvTranspose1d", "torch.nn.ConvTranspose2d",
                                           "torch.nn.ConvTranspose3d"};
  return (transposed ? turned : plain)[spatial - 1];
}

const char* conv_function(int64_t spatial, bool transposed) {
  static constexpr const char* plain[] = {
      "torch.nn.functional.conv1d", "torch.nn.functional.conv2d", "torch.nn.functional.conv3d"};
  static constexpr const char* turned[] = {"torch.nn.functional.conv_transpose1d",
                                           "torch.nn.functional.conv_transpose2d",
                                           "torch.nn.functional.conv_transpose3d"};
  return (transposed ? turned : plain)[spatial - 1];
}

/// Number of spatial axes. Throws InvalidModel when input and weight do not match.
int64_t spatial_axes(const Conversion& c) {
  const std::optional<int64_t> rank = c.rank(1) ? c.rank(1) : c.rank(0);
  if (!rank) c.refuse("the rank of its input is not known");
  const std::optional<int64_t> input_rank = c.rank(0);
  SPARSEBIT_CHECK(!input_rank || *input_rank == *rank, InvalidModel, "its input has ",
                  input_rank.value_or(0), " axes, its weight ", *rank);
  SPARSEBIT_CHECK(*rank >= 2, InvalidModel, "its weight has ", *rank, " axes, expected at least 3");
  if (*rank < 3 || *rank > 5)
    c.refuse("a convolution along " + std::to_string(*rank - 2) + " axes is not supported");
  return *rank - 2;
}

/// The arguments of torch that plain and transposed convolutions share.
struct ConvArguments {
  Ints stride, padding, dilation;
  int64_t groups;

  fx::Kwargs kwargs() const {
    return {{"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}};
  }
};

/// Pads `x` explicitly where torch's symmetric padding cannot express the padding.
ConvArguments conv_arguments(Conversion& c, Value& x, int64_t spatial) {
  const Attributes& a = c.attributes();
  const Ints kernel = kernel_of(c, 1, spatial);
  const bool open = same_padding_is_open(c, spatial);
  const Window window =
      read_window(c, spatial, kernel, open ? Direction::Backward : Direction::Forward);
  ConvArguments arguments{.stride = window.stride,
                          .padding = window.begin,
                          .dilation = window.dilation,
                          .groups = a.integer("group", 1)};
  SPARSEBIT_CHECK(arguments.groups > 0 && arguments.groups < (int64_t{1} << 31), InvalidModel,
                  "group is ", arguments.groups);
  if (window.is_symmetric() && !open) return arguments;
  x = open ? pad_to_same(c, window, kernel) : pad_spatially(c, x, window, 0.0);
  arguments.padding.assign(static_cast<size_t>(spatial), 0);
  return arguments;
}

Value call_conv(Conversion& c, const Value& x, int64_t spatial, bool transposed,
                const fx::Kwargs& options) {
  const at::Tensor* weight = c.constant(1);
  const at::Tensor* bias = c.constant(2);
  const bool is_layer = weight && weight->is_floating_point() && (bias || !c.has_input(2));
  if (!is_layer) {
    // not folded even for constants: padding and strides can make a large result of a small input
    return c.node(conv_function(spatial, transposed), {x, c.tensor(1), c.tensor(2)}, options);
  }
  int64_t groups = 1;
  for (const auto& [name, value] : options) groups = name == "groups" ? value.to_int() : groups;
  const int64_t in = transposed ? weight->size(0) : weight->size(1) * groups;
  const int64_t out = transposed ? weight->size(1) * groups : weight->size(0);
  fx::Kwargs constructor = options;
  constructor.emplace_back("bias", bias != nullptr);
  const fx::ModuleState state{{{"weight", *weight}, {"bias", bias ? *bias : at::Tensor()}}, {}};
  return c.module(conv_type(spatial, transposed), {in, out, weight->sizes().slice(2).vec()},
                  constructor, state, {x});
}

void convert_conv(Conversion& c) {
  const int64_t spatial = spatial_axes(c);
  Value x = c.tensor(0);
  const fx::Kwargs options = conv_arguments(c, x, spatial).kwargs();
  c.give(call_conv(c, x, spatial, false, options));
}

/// ONNX states either the output's size, or padding and output_padding. Asymmetric padding is cut
/// off the unpadded result.
void convert_conv_transpose(Conversion& c) {
  const int64_t spatial = spatial_axes(c);
  const auto n = static_cast<size_t>(spatial);
  const Ints kernel = kernel_of(c, 1, spatial);
  Window window = read_window(c, spatial, kernel, Direction::Backward);
  Ints extra = c.attributes().ints("output_padding", Ints(n, 0));
  const int64_t groups = c.attributes().integer("group", 1);
  SPARSEBIT_CHECK(groups > 0 && groups < (int64_t{1} << 31) && extra.size() == n, InvalidModel,
                  "group is ", groups, ", output_padding has ", extra.size(),
                  " entries, expected a positive group and ", n, " entries");
  for (const int64_t amount : extra) {
    SPARSEBIT_CHECK(amount >= 0 && amount < (int64_t{1} << 31), InvalidModel,
                    "output_padding contains ", amount);
  }
  resolve_output_shape(c, window, kernel, extra);

  const bool torch_can = window.is_symmetric() && [&] {
    for (size_t i = 0; i < n; ++i) {
      if (extra[i] < 0 || extra[i] >= std::max(window.stride[i], window.dilation[i])) return false;
    }
    return true;
  }();
  fx::Kwargs options = {{"stride", window.stride},
                        {"padding", torch_can ? window.begin : Ints(n, 0)},
                        {"output_padding", torch_can ? extra : Ints(n, 0)},
                        {"dilation", window.dilation},
                        {"groups", groups}};
  const Value y = call_conv(c, c.tensor(0), spatial, true, options);
  if (torch_can) return c.give(y);
  Window cut = window;  // output_padding adds to the end what padding would take away
  for (size_t i = 0; i < n; ++i) {
    cut.begin[i] = -window.begin[i];
    cut.end[i] = extra[i] - window.end[i];
  }
  c.give(pad_spatially(c, y, cut, 0.0));
}

}  // namespace

void add_convolution_converters(Converters& r) {
  r.add("Conv", convert_conv);
  r.add("ConvTranspose", convert_conv_transpose);
}

}  // namespace sparsebit::frontends
