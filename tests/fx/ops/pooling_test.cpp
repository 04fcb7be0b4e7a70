#include "fx/ops/new_module.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/functional/pooling.h>

namespace sparsebit::fx::test::pooling_test {
namespace {

namespace F = torch::nn::functional;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensors both(const std::tuple<at::Tensor, at::Tensor>& pair) {
  return {std::get<0>(pair), std::get<1>(pair)};
}

const at::Tensor& line() {
  static const at::Tensor x = normal({2, 3, 11});
  return x;
}
const at::Tensor& image() {
  static const at::Tensor x = normal({2, 3, 9, 8});
  return x;
}
const at::Tensor& volume() {
  static const at::Tensor x = normal({1, 2, 6, 7, 5});
  return x;
}

TEST(Pooling, MaxPoolsEqualLibtorch) {
  expect_equal_to_libtorch({
      {"torch.max_pool1d(%a, 3)", {line()}},
      {"torch.max_pool1d(%a, [3], stride=[2], padding=1, dilation=2, ceil_mode=True)", {line()}},
      {"torch.nn.functional.max_pool1d(%a, 2, return_indices=True)",
       {line()},
       [](Tensors t) {
         return both(F::max_pool1d_with_indices(t[0], F::MaxPool1dFuncOptions(2)));
       }},
      {"torch.nn.functional.max_pool1d_with_indices(%a, 3, 1)",
       {line()},
       [](Tensors t) {
         return both(F::max_pool1d_with_indices(t[0], F::MaxPool1dFuncOptions(3).stride(1)));
       }},
      {"torch.max_pool2d(%a, [3, 2])", {image()}},
      {"torch.max_pool2d(%a, 3, 2, 1)", {image()}},
      {"torch.max_pool2d(%a, 3, [], 1, 2, True)", {image()[0]}},
      {"torch.nn.functional.max_pool2d(%a, kernel_size=(3, 2), stride=None, ceil_mode=True)",
       {image()},
       [](Tensors t) {
         return Tensors{F::max_pool2d(t[0], F::MaxPool2dFuncOptions({3, 2}).ceil_mode(true))};
       }},
      {"torch.nn.functional.max_pool2d(%a, 3, 2, 1, 1, False, True)",
       {image()},
       [](Tensors t) {
         return both(
             F::max_pool2d_with_indices(t[0], F::MaxPool2dFuncOptions(3).stride(2).padding(1)));
       }},
      {"torch.nn.functional.max_pool2d_with_indices(%a, 2)",
       {image()},
       [](Tensors t) {
         return both(F::max_pool2d_with_indices(t[0], F::MaxPool2dFuncOptions(2)));
       }},
      {"torch.max_pool3d(%a, [2, 3, 2], 2, [1, 0, 1])", {volume()}},
      {"torch.nn.functional.max_pool3d(%a, 2, dilation=2)",
       {volume()},
       [](Tensors t) {
         return Tensors{F::max_pool3d(t[0], F::MaxPool3dFuncOptions(2).dilation(2))};
       }},
      {"torch.nn.functional.max_pool3d_with_indices(%a, 2)",
       {volume()},
       [](Tensors t) {
         return both(F::max_pool3d_with_indices(t[0], F::MaxPool3dFuncOptions(2)));
       }},
  });
}

TEST(Pooling, AveragePoolsEqualLibtorch) {
  expect_equal_to_libtorch({
      {"torch.avg_pool1d(%a, 3)", {line()}},
      {"torch.avg_pool1d(%a, [3], [2], [1], True, False)", {line()}},
      {"torch.nn.functional.avg_pool1d(%a, 2, stride=1)",
       {line()},
       [](Tensors t) {
         return Tensors{F::avg_pool1d(t[0], F::AvgPool1dFuncOptions(2).stride(1))};
       }},
      {"torch.nn.functional.avg_pool2d(%a, 3, 2, 1)",
       {image()},
       [](Tensors t) {
         return Tensors{F::avg_pool2d(t[0], F::AvgPool2dFuncOptions(3).stride(2).padding(1))};
       }},
      {"torch.nn.functional.avg_pool2d(%a, (3, 2), padding=1, ceil_mode=True, "
       "count_include_pad=False)",
       {image()},
       [](Tensors t) {
         return Tensors{F::avg_pool2d(
             t[0],
             F::AvgPool2dFuncOptions({3, 2}).padding(1).ceil_mode(true).count_include_pad(false))};
       }},
      {"torch.nn.functional.avg_pool2d(%a, 2, divisor_override=3)",
       {image()},
       [](Tensors t) {
         return Tensors{F::avg_pool2d(t[0], F::AvgPool2dFuncOptions(2).divisor_override(3))};
       }},
      {"torch.nn.functional.avg_pool3d(%a, 3, stride=(2, 2, 1), padding=1, "
       "count_include_pad=False)",
       {volume()},
       [](Tensors t) {
         return Tensors{F::avg_pool3d(
             t[0],
             F::AvgPool3dFuncOptions(3).stride({2, 2, 1}).padding(1).count_include_pad(false))};
       }},
      {"torch.nn.functional.lp_pool1d(%a, 2, 3)",
       {positive({2, 3, 11})},
       [](Tensors t) { return Tensors{F::lp_pool1d(t[0], F::LPPool1dFuncOptions(2, 3))}; }},
      {"torch.nn.functional.lp_pool1d(%a, 3.0, 3, stride=2, ceil_mode=True)",
       {positive({2, 3, 11})},
       [](Tensors t) {
         return Tensors{F::lp_pool1d(t[0], F::LPPool1dFuncOptions(3, 3).stride(2).ceil_mode(true))};
       }},
      {"torch.nn.functional.lp_pool2d(%a, 2, (3, 2), 2)",
       {positive({2, 3, 9, 8})},
       [](Tensors t) {
         return Tensors{F::lp_pool2d(t[0], F::LPPool2dFuncOptions(2, {3, 2}).stride(2))};
       }},
  });
}

TEST(Pooling, AdaptivePoolsEqualLibtorch) {
  expect_equal_to_libtorch({
      {"torch.adaptive_avg_pool1d(%a, 4)", {line()}},
      {"torch.nn.functional.adaptive_avg_pool1d(%a, [5])",
       {line()},
       [](Tensors t) { return Tensors{at::adaptive_avg_pool1d(t[0], 5)}; }},
      {"torch.nn.functional.adaptive_avg_pool2d(%a, 1)",
       {image()},
       [](Tensors t) {
         return Tensors{at::adaptive_avg_pool2d(t[0], {1, 1})};
       }},
      {"torch.nn.functional.adaptive_avg_pool2d(%a, (None, 3))",
       {image()},
       [](Tensors t) {
         return Tensors{at::adaptive_avg_pool2d(t[0], {9, 3})};
       }},
      {"torch.nn.functional.adaptive_avg_pool2d(%a, output_size=(3, None))",
       {image()[0]},
       [](Tensors t) {
         return Tensors{at::adaptive_avg_pool2d(t[0], {3, 8})};
       }},
      {"torch.nn.functional.adaptive_avg_pool3d(%a, (2, None, 3))",
       {volume()},
       [](Tensors t) {
         return Tensors{at::adaptive_avg_pool3d(t[0], {2, 7, 3})};
       }},
      {"torch.adaptive_max_pool1d(%a, 4)", {line()}},
      {"torch.nn.functional.adaptive_max_pool1d(%a, 4)",
       {line()},
       [](Tensors t) { return Tensors{std::get<0>(at::adaptive_max_pool1d(t[0], 4))}; }},
      {"torch.nn.functional.adaptive_max_pool2d(%a, (None, 3), return_indices=True)",
       {image()},
       [](Tensors t) {
         return both(at::adaptive_max_pool2d(t[0], {9, 3}));
       }},
      {"torch.nn.functional.adaptive_max_pool2d(%a, 2)",
       {image()},
       [](Tensors t) {
         return Tensors{std::get<0>(at::adaptive_max_pool2d(t[0], {2, 2}))};
       }},
      {"torch.nn.functional.adaptive_max_pool3d(%a, 2, True)",
       {volume()},
       [](Tensors t) {
         return both(at::adaptive_max_pool3d(t[0], {2, 2, 2}));
       }},
  });
}

TEST(Pooling, UnpoolingEqualsLibtorch) {
  const auto [y1, i1] = at::max_pool1d_with_indices(line(), 2);
  const auto [y2, i2] = at::max_pool2d_with_indices(image(), 2);
  const auto [y3, i3] = at::max_pool3d_with_indices(volume(), 2);
  expect_equal_to_libtorch({
      {"torch.nn.functional.max_unpool1d(%a, %b, 2, output_size=[11])",
       {y1, i1},
       [](Tensors t) {
         return Tensors{at::max_unpool2d(t[0].unsqueeze(3), t[1].unsqueeze(3), {11, 1}).squeeze(3)};
       }},
      {"torch.nn.functional.max_unpool1d(%a, %b, 2)",
       {y1, i1},
       [](Tensors t) {
         return Tensors{F::max_unpool1d(t[0], t[1], F::MaxUnpool1dFuncOptions(2))};
       }},
      {"torch.nn.functional.max_unpool2d(%a, %b, 2, output_size=[2, 3, 9, 8])",
       {y2, i2},
       [](Tensors t) {
         return Tensors{at::max_unpool2d(t[0], t[1], {9, 8})};
       }},
      {"torch.nn.functional.max_unpool2d(%a, %b, (2, 2), 2)",
       {y2, integers({2, 3, 4, 4}, 0, 64)},
       [](Tensors t) {
         return Tensors{at::max_unpool2d(t[0], t[1], {8, 8})};
       },
       /*gradients=*/false},
      {"torch.nn.functional.max_unpool3d(%a, %b, 2, output_size=(6, 7, 5))",
       {y3, i3},
       [](Tensors t) {
         return Tensors{at::max_unpool3d(t[0], t[1], {6, 7, 5}, {2, 2, 2}, {0, 0, 0})};
       },
       /*gradients=*/false},
  });
}

TEST(Pooling, ErrorsNameTheArgument) {
  EXPECT_THAT(
      [] { evaluate("torch.max_pool2d(%a, [2, 2, 2])", {image()}); },
      ThrowsMessage<Error>(HasSubstr("argument 'kernel_size' must be one int or 2, got 3")));
  EXPECT_THAT([] { evaluate("torch.nn.functional.adaptive_avg_pool2d(%a, [1])", {image()}); },
              ThrowsMessage<Error>(HasSubstr(
                  "output_size must have 2 entries and input more than 2 axes, got 1 and 4")));
  EXPECT_THAT(
      [] {
        evaluate("torch.nn.functional.max_unpool2d(%a, %b, 2, output_size=[20, 8])",
                 {normal({1, 1, 4, 4}), integers({1, 1, 4, 4}, 0, 9)});
      },
      ThrowsMessage<Error>(HasSubstr("output_size 20 of axis 0 must be between 6 and 10")));
}

TEST(Pooling, ModulesHaveNoState) {
  for (const char* kind :
       {"MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "MaxUnpool"}) {
    for (const char* rank : {"1d", "2d", "3d"}) {
      expect_state({c10::str("torch.nn.", kind, rank), {2}}, {});
    }
  }
  expect_state({"torch.nn.LPPool1d", {2, 3}}, {});
  expect_state({"torch.nn.LPPool2d", {2, 3}}, {});
}

}  // namespace
}  // namespace sparsebit::fx::test::pooling_test
