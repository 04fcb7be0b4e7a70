#include "nn/layer_case.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/instancenorm.h>  // missing in modules/instancenorm.h
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/distance.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/instancenorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>

namespace sparsebit::nn::test::layers_compute_test {
namespace {

namespace T = torch::nn;

TEST(Layers, ConvolutionsEqualLibtorch) {
  const at::Tensor line = at::randn({2, 4, 9}), image = at::randn({2, 4, 9, 8}),
                   volume = at::randn({1, 4, 5, 6, 5});
  expect_equal_to_libtorch({
      compare(Conv1d(4, 6, 3, {{"stride", 2}, {"padding", 1}, {"groups", 2}}),
              T::Conv1d(T::Conv1dOptions(4, 6, 3).stride(2).padding(1).groups(2)), {line}),
      compare(Conv2d(4, 6, List{3, 2}, {{"stride", Tuple{2, 1}}, {"dilation", 2}, {"bias", false}}),
              T::Conv2d(T::Conv2dOptions(4, 6, {3, 2}).stride({2, 1}).dilation(2).bias(false)),
              {image}),
      compare(Conv2d(4, 6, 3, {{"padding", "same"}}),
              T::Conv2d(T::Conv2dOptions(4, 6, 3).padding(torch::kSame)), {image}),
      compare(Conv2d(4, 6, 3, {{"padding", 1}, {"padding_mode", "reflect"}}),
              T::Conv2d(T::Conv2dOptions(4, 6, 3).padding(1).padding_mode(torch::kReflect)),
              {image}),
      compare(Conv2d(4, 6, 3, {{"padding", 2}, {"padding_mode", "circular"}}),
              T::Conv2d(T::Conv2dOptions(4, 6, 3).padding(2).padding_mode(torch::kCircular)),
              {image}),
      compare(Conv3d(4, 2, 3, {{"padding", 1}}), T::Conv3d(T::Conv3dOptions(4, 2, 3).padding(1)),
              {volume}),
      compare(ConvTranspose1d(4, 6, 3, {{"stride", 2}}),
              T::ConvTranspose1d(T::ConvTranspose1dOptions(4, 6, 3).stride(2)), {line}),
      compare(
          ConvTranspose2d(4, 6, 3,
                          {{"stride", 2}, {"padding", 1}, {"output_padding", 1}, {"groups", 2}}),
          T::ConvTranspose2d(
              T::ConvTranspose2dOptions(4, 6, 3).stride(2).padding(1).output_padding(1).groups(2)),
          {image}),
      compare(ConvTranspose3d(4, 2, 2, {{"stride", 2}, {"bias", false}}),
              T::ConvTranspose3d(T::ConvTranspose3dOptions(4, 2, 2).stride(2).bias(false)),
              {volume}),
  });
}

TEST(Layers, LinearLayersEqualLibtorch) {
  const at::Tensor x = at::randn({5, 4}), y = at::randn({5, 3});
  const at::Tensor ids = at::randint(0, 10, {3, 5}, at::kLong);
  const ModulePtr quantizable =
      layer("torch.nn.modules.linear.NonDynamicallyQuantizableLinear", {4, 3});
  expect_equal_to_libtorch({
      compare(Linear(4, 3), T::Linear(4, 3), {x}),
      compare(Linear(4, 3, {{"bias", false}}), T::Linear(T::LinearOptions(4, 3).bias(false)), {x}),
      compare(quantizable, T::Linear(4, 3), {x}),
      compare<2>(layer("torch.nn.Bilinear", {4, 3, 2}), T::Bilinear(4, 3, 2), {x, y}),
      compare(Embedding(10, 4), T::Embedding(10, 4), {ids}),
      compare(Embedding(10, 4, {{"padding_idx", 2}, {"scale_grad_by_freq", true}}),
              T::Embedding(T::EmbeddingOptions(10, 4).padding_idx(2).scale_grad_by_freq(true)),
              {ids}),
      compare(layer("torch.nn.EmbeddingBag", {10, 4}, {{"mode", "sum"}}),
              T::EmbeddingBag(T::EmbeddingBagOptions(10, 4).mode(torch::kSum)), {ids}),
      compare<2>(layer("torch.nn.CosineSimilarity", {}, {{"dim", 1}}),
                 T::CosineSimilarity(T::CosineSimilarityOptions().dim(1)), {x, at::randn({5, 4})}),
      compare<2>(layer("torch.nn.PairwiseDistance", {3.0}),
                 T::PairwiseDistance(T::PairwiseDistanceOptions().p(3.0)), {x, at::randn({5, 4})}),
  });
}

TEST(Layers, NormsEqualLibtorch) {
  const at::Tensor rows = at::randn({6, 4}), line = at::randn({3, 4, 5}),
                   image = at::randn({3, 4, 5, 6}), volume = at::randn({2, 4, 2, 3, 2});
  expect_equal_to_libtorch({
      compare(BatchNorm1d(4), T::BatchNorm1d(4), {rows}),
      compare(BatchNorm1d(4, {{"momentum", 0.3}}),
              T::BatchNorm1d(T::BatchNormOptions(4).momentum(0.3)), {line}),
      compare(BatchNorm2d(4, {{"eps", 1e-3}}), T::BatchNorm2d(T::BatchNormOptions(4).eps(1e-3)),
              {image}),
      compare(BatchNorm2d(4, {{"affine", false}}),
              T::BatchNorm2d(T::BatchNormOptions(4).affine(false)), {image}),
      compare(BatchNorm2d(4, {{"momentum", None()}}),
              T::BatchNorm2d(T::BatchNormOptions(4).momentum(c10::nullopt)), {image}),
      compare(BatchNorm2d(4, {{"track_running_stats", false}}),
              T::BatchNorm2d(T::BatchNormOptions(4).track_running_stats(false)), {image}),
      compare(BatchNorm3d(4), T::BatchNorm3d(4), {volume}),
      compare(layer("torch.nn.SyncBatchNorm", {4}), T::BatchNorm2d(4), {image}),
      compare(LayerNorm(List{5, 6}), T::LayerNorm(T::LayerNormOptions({5, 6})), {image}),
      compare(LayerNorm(6, {{"eps", 1e-3}, {"elementwise_affine", false}}),
              T::LayerNorm(T::LayerNormOptions({6}).eps(1e-3).elementwise_affine(false)), {image}),
      compare(GroupNorm(2, 4), T::GroupNorm(2, 4), {image}),
      compare(layer("torch.nn.InstanceNorm1d", {4}), T::InstanceNorm1d(4), {line}),
      compare(InstanceNorm2d(4, {{"affine", true}}),
              T::InstanceNorm2d(T::InstanceNormOptions(4).affine(true)), {image}),
      compare(InstanceNorm2d(4, {{"track_running_stats", true}}),
              T::InstanceNorm2d(T::InstanceNormOptions(4).track_running_stats(true)), {image}),
      compare(layer("torch.nn.InstanceNorm3d", {4}), T::InstanceNorm3d(4), {volume}),
      compare(layer("torch.nn.LocalResponseNorm", {3}, {{"k", 2.0}}),
              T::LocalResponseNorm(T::LocalResponseNormOptions(3).k(2.0)), {image}),
  });
}

TEST(Layers, RecurrentLayersEqualLibtorch) {
  const at::Tensor x = at::randn({5, 3, 4});
  expect_equal_to_libtorch({
      compare(LSTM(4, 6), T::LSTM(4, 6), {x}),
      compare(
          LSTM(4, 6,
               {{"num_layers", 2},
                {"bidirectional", true},
                {"batch_first", true},
                {"dropout", 0.3}}),
          T::LSTM(T::LSTMOptions(4, 6).num_layers(2).bidirectional(true).batch_first(true).dropout(
              0.3)),
          {x}),
      compare(LSTM(4, 6, {{"proj_size", 3}, {"bias", false}}),
              T::LSTM(T::LSTMOptions(4, 6).proj_size(3).bias(false)), {x}),
      compare(GRU(4, 6, {{"bidirectional", true}}), T::GRU(T::GRUOptions(4, 6).bidirectional(true)),
              {x}),
      compare(layer("torch.nn.RNN", {4, 6}, {{"nonlinearity", "relu"}, {"num_layers", 2}}),
              T::RNN(T::RNNOptions(4, 6).nonlinearity(torch::kReLU).num_layers(2)), {x}),
      compare(layer("torch.nn.LSTMCell", {4, 6}), T::LSTMCell(4, 6), {x[0]}),
      compare(layer("torch.nn.GRUCell", {4, 6}), T::GRUCell(4, 6), {x[0]}),
      compare(layer("torch.nn.RNNCell", {4, 6}, {{"nonlinearity", "relu"}}),
              T::RNNCell(T::RNNCellOptions(4, 6).nonlinearity(torch::kReLU)), {x[0]}),
  });
}

// libtorch's C++ module multiplies by 1 / sqrt(d); the Python module and ours divide by sqrt(d).
TEST(Layers, AttentionEqualsLibtorch) {
  constexpr double kTolerance = 1e-5;
  const at::Tensor q = at::randn({5, 2, 8}), k = at::randn({7, 2, 8}), v = at::randn({7, 2, 8});
  const at::Tensor k6 = at::randn({7, 2, 6}), v6 = at::randn({7, 2, 6});
  expect_equal_to_libtorch({
      compare<3>(MultiheadAttention(8, 2), T::MultiheadAttention(8, 2), {q, k, v}, kTolerance),
      compare<3>(MultiheadAttention(8, 4, {{"dropout", 0.2}}),
                 T::MultiheadAttention(T::MultiheadAttentionOptions(8, 4).dropout(0.2)), {q, k, v},
                 kTolerance),
      compare<3>(MultiheadAttention(8, 4, {{"add_bias_kv", true}, {"add_zero_attn", true}}),
                 T::MultiheadAttention(
                     T::MultiheadAttentionOptions(8, 4).add_bias_kv(true).add_zero_attn(true)),
                 {q, k, v}, kTolerance),
      compare<3>(
          MultiheadAttention(8, 2, {{"kdim", 6}, {"vdim", 6}, {"bias", false}}),
          T::MultiheadAttention(T::MultiheadAttentionOptions(8, 2).kdim(6).vdim(6).bias(false)),
          {q, k6, v6}, kTolerance),
  });
}

}  // namespace
}  // namespace sparsebit::nn::test::layers_compute_test
