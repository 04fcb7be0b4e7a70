#include "fx/ops/new_module.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/functional/conv.h>
#include <torch/nn/modules/conv.h>

namespace sparsebit::fx::test::convolution_test {
namespace {

namespace F = torch::nn::functional;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Convolution, EqualsLibtorch) {
  const at::Tensor x1 = normal({2, 4, 9}), w1 = normal({6, 2, 3});
  const at::Tensor x2 = normal({2, 4, 8, 7}), w2 = normal({6, 4, 3, 2}), bias = normal({6});
  const at::Tensor x3 = normal({1, 2, 5, 4, 5}), w3 = normal({3, 2, 2, 3, 2});
  expect_equal_to_libtorch({
      {"torch.conv1d(%a, %b, %c, 2, 1, 2, 2)", {x1, w1, bias}},
      {"torch.conv1d(%a, %b, groups=2, padding='same')", {x1, w1}},
      {"torch.nn.functional.conv1d(%a, %b, stride=[2], groups=2)",
       {x1, w1},
       [](Tensors t) {
         return Tensors{F::conv1d(t[0], t[1], F::Conv1dFuncOptions().stride(2).groups(2))};
       }},
      {"torch.conv2d(%a, %b)", {x2, w2}},
      {"torch.conv2d(%a, %b, %c, [2, 1], (1, 0), 2)", {x2, w2, bias}},
      {"torch.conv2d(%a, %b, bias=None, padding='valid')", {x2, w2}},
      {"torch.conv2d(%a, %b, %c, padding='same', dilation=[1, 3])", {x2, w2, bias}},
      {"torch.conv2d(%a, %b)", {x2[0], w2}},
      {"torch.nn.functional.conv2d(%a, %b, %c, 2, 1)",
       {x2, w2, bias},
       [](Tensors t) {
         return Tensors{
             F::conv2d(t[0], t[1], F::Conv2dFuncOptions().bias(t[2]).stride(2).padding(1))};
       }},
      {"torch.conv3d(%a, %b, None, 1, [1, 0, 1])", {x3, w3}},
      {"torch.nn.functional.conv3d(%a, %b, padding='same')",
       {x3, w3},
       [](Tensors t) {
         return Tensors{F::conv3d(t[0], t[1], F::Conv3dFuncOptions().padding(torch::kSame))};
       }},
  });
}

TEST(Convolution, PaddingModesEqualModulesOfLibtorch) {
  const at::Tensor x = normal({2, 3, 7, 8}), w = normal({4, 3, 2, 4}), bias = normal({4});
  const auto module = [](auto padding, auto mode) {
    return [=](Tensors t) {
      torch::nn::Conv2d conv(
          torch::nn::Conv2dOptions(3, 4, {2, 4}).padding(padding).padding_mode(mode));
      conv->weight = t[1];
      conv->bias = t[2];
      return Tensors{conv(t[0])};
    };
  };
  const torch::ExpandingArray<2> numbers({1, 2});
  expect_equal_to_libtorch({
      {"torch.conv2d(%a, %b, %c, padding=[1, 2], padding_mode='reflect')",
       {x, w, bias},
       module(numbers, torch::kReflect)},
      {"torch.conv2d(%a, %b, %c, padding=[1, 2], padding_mode='replicate')",
       {x, w, bias},
       module(numbers, torch::kReplicate)},
      {"torch.conv2d(%a, %b, %c, padding=[1, 2], padding_mode='circular')",
       {x, w, bias},
       module(numbers, torch::kCircular)},
      // Not the module here: libtorch's C++ one swaps the axes of a kernel that is not square.
      {"torch.conv2d(%a, %b, %c, padding='same', padding_mode='reflect')",
       {x, w, bias},
       [](Tensors t) {
         return Tensors{at::conv2d(at::pad(t[0], {1, 2, 0, 1}, "reflect"), t[1], t[2])};
       }},
      {"torch.conv2d(%a, %b, %c, padding='valid', padding_mode='circular')",
       {x, w, bias},
       module(torch::kValid, torch::kCircular)},
  });
}

TEST(Convolution, TransposedEqualsLibtorch) {
  const at::Tensor x1 = normal({2, 4, 5}), w1 = normal({4, 3, 3});
  const at::Tensor x2 = normal({2, 4, 5, 4}), w2 = normal({4, 3, 3, 2}), bias = normal({6});
  const at::Tensor x3 = normal({1, 2, 3, 4, 3}), w3 = normal({2, 3, 2, 3, 2});
  expect_equal_to_libtorch({
      {"torch.conv_transpose1d(%a, %b, None, 2, 1, 1)", {x1, w1}},
      {"torch.nn.functional.conv_transpose1d(%a, %b, stride=2, groups=2)",
       {x1, w1},
       [](Tensors t) {
         return Tensors{
             F::conv_transpose1d(t[0], t[1], F::ConvTranspose1dFuncOptions().stride(2).groups(2))};
       }},
      {"torch.conv_transpose2d(%a, %b, %c, [2, 3], 1, [1, 2], 2, [1, 2])", {x2, w2, bias}},
      {"torch.conv_transpose2d(%a, %b)", {x2[1], w2}},
      {"torch.nn.functional.conv_transpose2d(%a, %b, dilation=2)",
       {x2, w2},
       [](Tensors t) {
         return Tensors{
             F::conv_transpose2d(t[0], t[1], F::ConvTranspose2dFuncOptions().dilation(2))};
       }},
      {"torch.conv_transpose3d(%a, %b, stride=2, output_padding=[1, 0, 1])", {x3, w3}},
      {"torch.nn.functional.conv_transpose3d(%a, %b, padding=1)",
       {x3, w3},
       [](Tensors t) {
         return Tensors{
             F::conv_transpose3d(t[0], t[1], F::ConvTranspose3dFuncOptions().padding(1))};
       }},
  });
}

TEST(Convolution, OutputSizeSetsOutputPadding) {
  const at::Tensor x = normal({2, 4, 5, 4}), w = normal({4, 3, 3, 2});
  const auto expected = [](Tensors t) {
    torch::nn::ConvTranspose2d conv(
        torch::nn::ConvTranspose2dOptions(4, 3, {3, 2}).stride({2, 3}).padding(1).bias(false));
    conv->weight = t[1];
    const std::vector<int64_t> size = {10, 11};
    return Tensors{conv->forward(t[0], at::IntArrayRef(size))};
  };
  expect_equal_to_libtorch({
      {"torch.conv_transpose2d(%a, %b, stride=[2, 3], padding=1, output_size=[10, 11])",
       {x, w},
       expected},
      {"torch.conv_transpose2d(%a, %b, stride=[2, 3], padding=1, output_size=(2, 3, 10, 11))",
       {x, w},
       expected},
  });
  EXPECT_THAT(
      [&] {
        evaluate("torch.conv_transpose2d(%a, %b, stride=[2, 3], padding=1, output_size=[10, 12])",
                 {x, w});
      },
      ThrowsMessage<Error>(
          HasSubstr("output_size 12 of axis 1 is out of range; it can be 9 to 11")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.conv_transpose2d(%a, %b, output_size=[10])", {x, w});
      },
      ThrowsMessage<Error>(
          HasSubstr("output_size must have 2 or 4 elements for a 4-D input, got 1")));
}

TEST(Convolution, ErrorsNameTheArgument) {
  EXPECT_THAT(
      [&] {
        evaluate("torch.conv_transpose2d(%a, %b, output_size=[9])",
                 {normal({4}), normal({4, 3, 2, 2})});
      },
      ThrowsMessage<Error>(HasSubstr("expected 3-D or 4-D input, got 1-D")));
  const at::Tensor x = normal({2, 3, 7, 8}), w = normal({4, 3, 2, 2});
  EXPECT_THAT(
      [&] {
        evaluate("torch.conv2d(%a, %b, stride=[1, 2, 3])", {x, w});
      },
      ThrowsMessage<Error>(HasSubstr("argument 'stride' must be one int or 2, got 3")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.conv2d(%a, %b, padding_mode='mirror')", {x, w});
      },
      ThrowsMessage<Error>(HasSubstr("padding_mode must be 'zeros', 'reflect', 'replicate' or "
                                     "'circular', got 'mirror'")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.conv2d(%a, %b, padding='sam', padding_mode='reflect')", {x, w});
      },
      ThrowsMessage<Error>(HasSubstr("padding must be ints, 'same' or 'valid', got 'sam'")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.conv2d(%a, %b, stride=2, padding='same', padding_mode='reflect')", {x, w});
      },
      ThrowsMessage<Error>(HasSubstr("padding='same' is not supported for strided convolutions")));
  EXPECT_THAT(
      [&] {
        evaluate("torch.conv_transpose2d(%a, %b, padding_mode='reflect')", {x, w});
      },
      ThrowsMessage<Error>(HasSubstr("padding_mode must be 'zeros' for a transposed convolution")));
  EXPECT_THAT(
      [] {
        create_state({"torch.nn.Conv2d", {3, 8, 3}, {{"groups", 2}}});
      },
      ThrowsMessage<Error>("groups must divide in_channels and out_channels, got groups=2, "
                           "in_channels=3, out_channels=8"));
}

TEST(Convolution, ModulesStartAsInLibtorch) {
  expect_state({"torch.nn.Conv1d", {4, 6, 3}, {{"groups", 2}}}, {"weight[6, 2, 3]", "bias[6]"});
  expect_state({"torch.nn.Conv2d", {3, 8, Tuple{3, 5}}, {{"bias", false}}},
               {"weight[8, 3, 3, 5]", "bias None"});
  expect_state({"torch.nn.Conv3d", {2, 4, 3}}, {"weight[4, 2, 3, 3, 3]", "bias[4]"});
  expect_state({"torch.nn.ConvTranspose1d", {4, 6, 3}, {{"groups", 2}}},
               {"weight[4, 3, 3]", "bias[6]"});
  expect_state({"torch.nn.ConvTranspose2d", {3, 8, 3}}, {"weight[3, 8, 3, 3]", "bias[8]"});
  expect_state({"torch.nn.ConvTranspose3d", {3, 8, 3, 2, 1, 1, 1, false}},
               {"weight[3, 8, 3, 3, 3]", "bias None"});
  expect_drawn_like({"torch.nn.Conv2d", {3, 8, 3}},
                    [] { return torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3)).ptr(); });
  expect_drawn_like({"torch.nn.ConvTranspose1d", {3, 8, 3}}, [] {
    return torch::nn::ConvTranspose1d(torch::nn::ConvTranspose1dOptions(3, 8, 3)).ptr();
  });
}

}  // namespace
}  // namespace sparsebit::fx::test::convolution_test
