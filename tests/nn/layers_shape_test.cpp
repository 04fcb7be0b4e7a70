#include "nn/layer_case.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/fold.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/padding.h>
#include <torch/nn/modules/pixelshuffle.h>
#include <torch/nn/modules/pooling.h>
#include <torch/nn/modules/upsampling.h>

namespace sparsebit::nn::test::layers_shape_test {
namespace {

namespace T = torch::nn;

at::Tensor line() { return at::randn({2, 4, 11}); }
at::Tensor image() { return at::randn({2, 4, 9, 8}); }
at::Tensor volume() { return at::randn({1, 2, 6, 7, 6}); }

/// max_unpool of the result and indices of max_pool.
template <class Pool, class Unpool>
LayerCase unpool(ModulePtr ours, Pool pool, Unpool theirs, const at::Tensor& x) {
  const auto [values, indices] = pool->forward_with_indices(x);
  return compare<2>(std::move(ours), theirs, {values, indices});
}

TEST(Layers, PoolingEqualsLibtorch) {
  expect_equal_to_libtorch({
      compare(layer("torch.nn.MaxPool1d", {3}, {{"stride", 2}, {"ceil_mode", true}}),
              T::MaxPool1d(T::MaxPool1dOptions(3).stride(2).ceil_mode(true)), {line()}),
      compare(MaxPool2d(3, {{"stride", 2}, {"padding", 1}, {"ceil_mode", true}}),
              T::MaxPool2d(T::MaxPool2dOptions(3).stride(2).padding(1).ceil_mode(true)), {image()}),
      compare(MaxPool2d(Tuple{2, 3}, {{"dilation", 2}}),
              T::MaxPool2d(T::MaxPool2dOptions({2, 3}).dilation(2)), {image()}),
      compare(layer("torch.nn.MaxPool3d", {2}), T::MaxPool3d(2), {volume()}),
      compare(layer("torch.nn.AvgPool1d", {3}, {{"padding", 1}, {"count_include_pad", false}}),
              T::AvgPool1d(T::AvgPool1dOptions(3).padding(1).count_include_pad(false)), {line()}),
      compare(AvgPool2d(3, {{"padding", 1}, {"count_include_pad", false}}),
              T::AvgPool2d(T::AvgPool2dOptions(3).padding(1).count_include_pad(false)), {image()}),
      compare(AvgPool2d(3, {{"divisor_override", 5}, {"ceil_mode", true}}),
              T::AvgPool2d(T::AvgPool2dOptions(3).divisor_override(5).ceil_mode(true)), {image()}),
      compare(layer("torch.nn.AvgPool3d", {2}, {{"stride", 1}}),
              T::AvgPool3d(T::AvgPool3dOptions(2).stride(1)), {volume()}),
      compare(layer("torch.nn.AdaptiveAvgPool1d", {3}), T::AdaptiveAvgPool1d(3), {line()}),
      compare(AdaptiveAvgPool2d(Tuple{3, None()}),
              T::AdaptiveAvgPool2d(T::AdaptiveAvgPool2dOptions({3, c10::nullopt})), {image()}),
      compare(layer("torch.nn.AdaptiveAvgPool3d", {2}), T::AdaptiveAvgPool3d(2), {volume()}),
      compare(layer("torch.nn.AdaptiveMaxPool1d", {3}), T::AdaptiveMaxPool1d(3), {line()}),
      compare(AdaptiveMaxPool2d(3), T::AdaptiveMaxPool2d(3), {image()}),
      compare(layer("torch.nn.AdaptiveMaxPool3d", {2}), T::AdaptiveMaxPool3d(2), {volume()}),
      compare(layer("torch.nn.LPPool1d", {2.0, 3}), T::LPPool1d(2.0, 3), {line()}),
      compare(layer("torch.nn.LPPool2d", {2.0, 3}, {{"stride", 2}}),
              T::LPPool2d(T::LPPool2dOptions(2.0, 3).stride(2)), {image()}),
      unpool(layer("torch.nn.MaxUnpool1d", {2}), T::MaxPool1d(2), T::MaxUnpool1d(2), line()),
      unpool(layer("torch.nn.MaxUnpool2d", {2}), T::MaxPool2d(2), T::MaxUnpool2d(2), image()),
      unpool(layer("torch.nn.MaxUnpool3d", {2}), T::MaxPool3d(2), T::MaxUnpool3d(2),
             at::randn({1, 2, 6, 4, 6})),
  });
}

TEST(Layers, PooledIndicesAreReturnedWhenAskedFor) {
  const at::Tensor x = image();
  const auto result = (*MaxPool2d(2, {{"return_indices", true}}))(x);
  const auto [values, indices] = T::MaxPool2d(2)->forward_with_indices(x);
  EXPECT_TRUE(at::equal(result.items()[0].tensor(), values));
  EXPECT_TRUE(at::equal(result.items()[1].tensor(), indices));
}

TEST(Layers, PaddingEqualsLibtorch) {
  expect_equal_to_libtorch({
      compare(layer("torch.nn.ZeroPad2d", {List{1, 2, 0, 1}}),
              T::ZeroPad2d(T::ZeroPad2dOptions({1, 2, 0, 1})), {image()}),
      compare(layer("torch.nn.ConstantPad1d", {2, 0.5}), T::ConstantPad1d(2, 0.5), {line()}),
      compare(layer("torch.nn.ConstantPad2d", {2, 0.5}), T::ConstantPad2d(2, 0.5), {image()}),
      compare(layer("torch.nn.ConstantPad3d", {1, -1.0}), T::ConstantPad3d(1, -1.0), {volume()}),
      compare(layer("torch.nn.ReflectionPad1d", {2}), T::ReflectionPad1d(2), {line()}),
      compare(layer("torch.nn.ReflectionPad2d", {2}), T::ReflectionPad2d(2), {image()}),
      compare(layer("torch.nn.ReflectionPad3d", {1}), T::ReflectionPad3d(1), {volume()}),
      compare(layer("torch.nn.ReplicationPad1d", {List{1, 3}}),
              T::ReplicationPad1d(T::ReplicationPad1dOptions({1, 3})), {line()}),
      compare(layer("torch.nn.ReplicationPad2d", {2}), T::ReplicationPad2d(2), {image()}),
      compare(layer("torch.nn.ReplicationPad3d", {1}), T::ReplicationPad3d(1), {volume()}),
  });
}

TEST(Layers, ResizingEqualsLibtorch) {
  const std::vector<double> twice = {2.0, 2.0};
  expect_equal_to_libtorch({
      compare(Upsample({{"scale_factor", 2.0}}),
              T::Upsample(T::UpsampleOptions().scale_factor(twice)), {image()}),
      compare(Upsample({{"size", List{5, 11}}, {"mode", "bilinear"}, {"align_corners", true}}),
              T::Upsample(T::UpsampleOptions()
                              .size(std::vector<int64_t>{5, 11})
                              .mode(torch::kBilinear)
                              .align_corners(true)),
              {image()}),
      compare(layer("torch.nn.UpsamplingNearest2d", {}, {{"scale_factor", 2.0}}),
              T::Upsample(T::UpsampleOptions().scale_factor(twice)), {image()}),
      compare(
          layer("torch.nn.UpsamplingBilinear2d", {}, {{"scale_factor", 2.0}}),
          T::Upsample(
              T::UpsampleOptions().scale_factor(twice).mode(torch::kBilinear).align_corners(true)),
          {image()}),
      compare(PixelShuffle(2), T::PixelShuffle(2), {image()}),
      compare(layer("torch.nn.PixelUnshuffle", {2}), T::PixelUnshuffle(2),
              {at::randn({2, 3, 4, 6})}),
      {layer("torch.nn.ChannelShuffle", {2}),
       nullptr,
       [](const Tensors& t) {
         return Tensors{t[0].view({2, 2, 2, 9, 8}).transpose(1, 2).reshape({2, 4, 9, 8})};
       },
       {image()}},
  });
}

TEST(Layers, ReshapingEqualsLibtorch) {
  expect_equal_to_libtorch({
      compare(Identity(), T::Identity(), {line()}),
      compare(Flatten(), T::Flatten(), {image()}),
      compare(Flatten({{"start_dim", 2}, {"end_dim", 3}}),
              T::Flatten(T::FlattenOptions().start_dim(2).end_dim(3)), {image()}),
      compare(layer("torch.nn.Unflatten", {1, List{2, 2}}),
              T::Unflatten(T::UnflattenOptions(1, {2, 2})), {image()}),
      compare(layer("torch.nn.Unfold", {List{2, 3}}, {{"padding", 1}}),
              T::Unfold(T::UnfoldOptions({2, 3}).padding(1)), {image()}),
      compare(layer("torch.nn.Fold", {List{4, 5}, List{2, 2}}),
              T::Fold(T::FoldOptions({4, 5}, {2, 2})), {at::randn({1, 12, 12})}),
  });
}

}  // namespace
}  // namespace sparsebit::nn::test::layers_shape_test
