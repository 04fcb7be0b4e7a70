#include "fx/ops/new_module.h"
#include "fx/ops/op_case.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/functional/pixelshuffle.h>
#include <torch/nn/functional/upsampling.h>
#include <torch/nn/functional/vision.h>

namespace sparsebit::fx::test::resize_test {
namespace {

namespace F = torch::nn::functional;
using Options = F::InterpolateFuncOptions;
using testing::HasSubstr;
using testing::ThrowsMessage;

auto resized(const Options& options) {
  return [=](Tensors t) { return Tensors{F::interpolate(t[0], options)}; };
}

/// One entry for each spatial axis.
Options to_size(std::vector<int64_t> size) { return Options().size(std::move(size)); }
Options by(std::vector<double> factors) { return Options().scale_factor(std::move(factors)); }

const at::Tensor& line() {
  static const at::Tensor x = normal({2, 3, 7});
  return x;
}
const at::Tensor& image() {
  static const at::Tensor x = normal({2, 3, 5, 4});
  return x;
}
const at::Tensor& volume() {
  static const at::Tensor x = normal({1, 2, 3, 4, 5});
  return x;
}

TEST(Resize, NearestEqualsLibtorch) {
  expect_equal_to_libtorch({
      {"torch.nn.functional.interpolate(%a, 10)", {line()}, resized(to_size({10}))},
      {"torch.nn.functional.interpolate(%a, [7, 9])", {image()}, resized(to_size({7, 9}))},
      {"torch.nn.functional.interpolate(%a, size=(3, 2))", {image()}, resized(to_size({3, 2}))},
      {"torch.nn.functional.interpolate(%a, scale_factor=2)", {image()}, resized(by({2, 2}))},
      {"torch.nn.functional.interpolate(%a, None, 1.7)", {image()}, resized(by({1.7, 1.7}))},
      {"torch.nn.functional.interpolate(%a, scale_factor=[1.7, 2])",
       {image()},
       resized(by({1.7, 2}))},
      {"torch.nn.functional.interpolate(%a, scale_factor=1.7, recompute_scale_factor=True)",
       {image()},
       resized(by({1.7, 1.7}).recompute_scale_factor(true))},
      {"torch.nn.functional.interpolate(%a, scale_factor=2.0, mode='nearest')",
       {volume()},
       resized(by({2, 2, 2}))},
      {"torch.nn.functional.interpolate(%a, 11, mode='nearest-exact')",
       {line()},
       resized(to_size({11}).mode(torch::kNearestExact))},
      {"torch.nn.functional.interpolate(%a, scale_factor=1.7, mode='nearest-exact')",
       {image()},
       resized(by({1.7, 1.7}).mode(torch::kNearestExact))},
      {"torch.nn.functional.interpolate(%a, 4, mode='nearest-exact')",
       {volume()},
       resized(to_size({4, 4, 4}).mode(torch::kNearestExact))},
      {"torch.nn.functional.upsample(%a, scale_factor=3)", {image()}, resized(by({3, 3}))},
      {"torch.nn.functional.upsample_nearest(%a, [7, 9])", {image()}, resized(to_size({7, 9}))},
  });
}

TEST(Resize, MixingModesEqualLibtorch) {
  expect_equal_to_libtorch({
      {"torch.nn.functional.interpolate(%a, 10, mode='linear')",
       {line()},
       resized(to_size({10}).mode(torch::kLinear).align_corners(false))},
      {"torch.nn.functional.interpolate(%a, (8, 3), mode='bilinear', align_corners=True)",
       {image()},
       resized(to_size({8, 3}).mode(torch::kBilinear).align_corners(true))},
      {"torch.nn.functional.interpolate(%a, scale_factor=1.7, mode='bilinear')",
       {image()},
       resized(by({1.7, 1.7}).mode(torch::kBilinear).align_corners(false))},
      {"torch.nn.functional.interpolate(%a, None, 1.7, 'bilinear', False, True)",
       {image()},
       resized(by({1.7, 1.7})
                   .mode(torch::kBilinear)
                   .align_corners(false)
                   .recompute_scale_factor(true))},
      {"torch.nn.functional.interpolate(%a, (3, 3), mode='bilinear', antialias=True)",
       {image()},
       resized(to_size({3, 3}).mode(torch::kBilinear).align_corners(false).antialias(true))},
      {"torch.nn.functional.interpolate(%a, (8, 3), mode='bicubic', align_corners=False)",
       {image()},
       resized(to_size({8, 3}).mode(torch::kBicubic).align_corners(false))},
      {"torch.nn.functional.interpolate(%a, 3, mode='bicubic', antialias=True)",
       {image()},
       resized(to_size({3, 3}).mode(torch::kBicubic).align_corners(false).antialias(true))},
      {"torch.nn.functional.interpolate(%a, 6, mode='trilinear', align_corners=True)",
       {volume()},
       resized(to_size({6, 6, 6}).mode(torch::kTrilinear).align_corners(true))},
      {"torch.nn.functional.upsample(%a, 6, mode='bilinear', align_corners=True)",
       {image()},
       resized(to_size({6, 6}).mode(torch::kBilinear).align_corners(true))},
      {"torch.nn.functional.upsample_bilinear(%a, scale_factor=2)",
       {image()},
       resized(by({2, 2}).mode(torch::kBilinear).align_corners(true))},
      {"torch.nn.functional.interpolate(%a, 3, mode='area')",
       {line()},
       resized(to_size({3}).mode(torch::kArea))},
      {"torch.nn.functional.interpolate(%a, scale_factor=0.7, mode='area')",
       {image()},
       resized(by({0.7, 0.7}).mode(torch::kArea))},
      {"torch.nn.functional.interpolate(%a, [2, 2, 2], mode='area')",
       {volume()},
       resized(to_size({2, 2, 2}).mode(torch::kArea))},
  });
}

TEST(Resize, GridsEqualLibtorch) {
  const at::Tensor grid = normal({2, 6, 7, 2}) * 0.7, theta = normal({2, 2, 3});
  const auto sampled = [](const F::GridSampleFuncOptions& options) {
    return [=](Tensors t) { return Tensors{F::grid_sample(t[0], t[1], options)}; };
  };
  const auto defaults = F::GridSampleFuncOptions().align_corners(false);
  expect_equal_to_libtorch({
      {"torch.nn.functional.grid_sample(%a, %b)", {image(), grid}, sampled(defaults)},
      {"torch.nn.functional.grid_sample(%a, %b, 'nearest', 'border', True)",
       {image(), grid},
       sampled(F::GridSampleFuncOptions()
                   .mode(torch::kNearest)
                   .padding_mode(torch::kBorder)
                   .align_corners(true))},
      {"torch.nn.functional.grid_sample(%a, %b, padding_mode='reflection')",
       {image(), grid},
       sampled(F::GridSampleFuncOptions().padding_mode(torch::kReflection).align_corners(false))},
      {"torch.nn.functional.grid_sample(%a, %b, mode='bicubic', align_corners=False)",
       {image(), grid},
       [](Tensors t) { return Tensors{at::grid_sampler(t[0], t[1], 2, 0, false)}; }},
      {"torch.nn.functional.affine_grid(%a, [2, 3, 4, 5])",
       {theta},
       [](Tensors t) {
         return Tensors{F::affine_grid(t[0], {2, 3, 4, 5})};
       }},
      {"torch.nn.functional.affine_grid(%a, (2, 3, 4, 5), align_corners=True)",
       {theta},
       [](Tensors t) {
         return Tensors{F::affine_grid(t[0], {2, 3, 4, 5}, true)};
       }},
      {"torch.nn.functional.affine_grid(%a, (1, 3, 4, 5, 2))",
       {normal({1, 3, 4})},
       [](Tensors t) {
         return Tensors{F::affine_grid(t[0], {1, 3, 4, 5, 2})};
       }},
  });
}

TEST(Resize, ShufflesEqualLibtorch) {
  const at::Tensor x = normal({2, 8, 4, 6});
  expect_equal_to_libtorch({
      {"torch.pixel_shuffle(%a, 2)", {x}},
      {"torch.nn.functional.pixel_shuffle(%a, upscale_factor=2)",
       {x},
       [](Tensors t) { return Tensors{F::pixel_shuffle(t[0], F::PixelShuffleFuncOptions(2))}; }},
      {"torch.pixel_unshuffle(%a, 2)", {x}},
      {"torch.nn.functional.pixel_unshuffle(%a, downscale_factor=2)",
       {x},
       [](Tensors t) {
         return Tensors{F::pixel_unshuffle(t[0], F::PixelUnshuffleFuncOptions(2))};
       }},
  });
}

TEST(Resize, ErrorsTellTheRule) {
  const struct {
    const char* arguments;
    const char* message;
  } cases[] = {
      {"", "exactly one of size and scale_factor must be given"},
      {", 4, 2.0", "exactly one of size and scale_factor must be given"},
      {", [4, 4, 4]", "argument 'size' must be one int or 2, got 3"},
      {", scale_factor=[2.0]", "scale_factor must be one number or 2 for a 4-D input, got 1"},
      {", 4, mode='linear'", "mode 'linear' needs 3-D input, got 4-D"},
      {", 4, mode='cubic'",
       "unknown mode 'cubic'; known: nearest, nearest-exact, linear, bilinear, bicubic, trilinear, "
       "area"},
      {", 4, align_corners=False",
       "align_corners can only be set for the modes linear, bilinear, bicubic and trilinear, got "
       "'nearest'"},
      {", 4, antialias=True", "antialias needs mode 'bilinear' or 'bicubic', got 'nearest'"},
      {", 4, recompute_scale_factor=True",
       "recompute_scale_factor is not meaningful with an explicit size"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(
        [&] {
          evaluate(c10::str("torch.nn.functional.interpolate(%a", c.arguments, ")"), {image()});
        },
        ThrowsMessage<Error>(HasSubstr(c.message)));
  }
  EXPECT_THAT([] { evaluate("torch.nn.functional.grid_sample(%a, %a, 'cubic')", {image()}); },
              ThrowsMessage<Error>(
                  HasSubstr("mode must be one of bilinear, nearest, bicubic; got 'cubic'")));
  EXPECT_THAT(
      [] {
        evaluate("torch.nn.functional.affine_grid(%a, [1, 2, 3, 4])", {normal({1, 3, 4})});
      },
      ThrowsMessage<Error>(
          HasSubstr("theta must have shape [N, 2, 3] for a 2-D grid, got [1, 3, 4]")));
}

TEST(Resize, ModulesHaveNoState) {
  expect_state({"torch.nn.Upsample", {None{}, 2.0, "bilinear", true}}, {});
  expect_state({"torch.nn.UpsamplingNearest2d", {None{}, 2}}, {});
  expect_state({"torch.nn.UpsamplingBilinear2d", {}, {{"size", 7}}}, {});
  expect_state({"torch.nn.PixelShuffle", {2}}, {});
  expect_state({"torch.nn.PixelUnshuffle", {2}}, {});
  EXPECT_EQ(operators().get("torch.nn.UpsamplingBilinear2d").module->preset,
            (Kwargs{{"mode", "bilinear"}, {"align_corners", true}}));
}

}  // namespace
}  // namespace sparsebit::fx::test::resize_test
