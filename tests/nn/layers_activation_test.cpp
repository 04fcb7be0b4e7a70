#include "nn/layer_case.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/dropout.h>

namespace sparsebit::nn::test::layers_activation_test {
namespace {

namespace T = torch::nn;

TEST(Layers, ActivationsEqualLibtorch) {
  const at::Tensor x = at::randn({2, 4, 6}) * 3;
  expect_equal_to_libtorch({
      compare(ReLU(), T::ReLU(), {x}),
      compare(ReLU({{"inplace", true}}), T::ReLU(T::ReLUOptions(true)), {x}),
      compare(ReLU6(), T::ReLU6(), {x}),
      compare(LeakyReLU({{"negative_slope", 0.2}}),
              T::LeakyReLU(T::LeakyReLUOptions().negative_slope(0.2)), {x}),
      compare(PReLU(), T::PReLU(), {x}),
      compare(PReLU({{"num_parameters", 4}, {"init", 0.1}}),
              T::PReLU(T::PReLUOptions().num_parameters(4).init(0.1)), {x}),
      compare(layer("torch.nn.Threshold", {0.1, 20.0}), T::Threshold(0.1, 20.0), {x}),
      compare(ELU({{"alpha", 0.5}}), T::ELU(T::ELUOptions().alpha(0.5)), {x}),
      compare(layer("torch.nn.CELU", {0.5}), T::CELU(T::CELUOptions().alpha(0.5)), {x}),
      compare(layer("torch.nn.SELU", {}), T::SELU(), {x}),
      compare(layer("torch.nn.Softplus", {2, 10}),
              T::Softplus(T::SoftplusOptions().beta(2).threshold(10)), {x}),
      compare(Sigmoid(), T::Sigmoid(), {x}),
      compare(layer("torch.nn.LogSigmoid", {}), T::LogSigmoid(), {x}),
      compare(SiLU(), T::SiLU(), {x}),
      compare(Mish(), T::Mish(), {x}),
      compare(GELU(), T::GELU(), {x}),
      compare(GELU({{"approximate", "tanh"}}), T::GELU(T::GELUOptions().approximate("tanh")), {x}),
      compare(layer("torch.nn.GLU", {1}), T::GLU(1), {x}),
      compare(Tanh(), T::Tanh(), {x}),
      compare(layer("torch.nn.Hardtanh", {-2.0, 0.5}),
              T::Hardtanh(T::HardtanhOptions().min_val(-2).max_val(0.5)), {x}),
      compare(layer("torch.nn.Softsign", {}), T::Softsign(), {x}),
      compare(layer("torch.nn.Tanhshrink", {}), T::Tanhshrink(), {x}),
      compare(layer("torch.nn.Softshrink", {0.7}), T::Softshrink(0.7), {x}),
      compare(layer("torch.nn.Hardshrink", {0.7}), T::Hardshrink(0.7), {x}),
      compare(Softmax(1), T::Softmax(1), {x}),
      compare(layer("torch.nn.LogSoftmax", {-1}), T::LogSoftmax(-1), {x}),
      compare(layer("torch.nn.Softmin", {0}), T::Softmin(0), {x}),
      {Hardswish(), nullptr, [](const Tensors& t) { return Tensors{at::hardswish(t[0])}; }, {x}},
      {Hardsigmoid(),
       nullptr,
       [](const Tensors& t) { return Tensors{at::hardsigmoid(t[0])}; },
       {x}},
  });
}

TEST(Layers, DropoutsEqualLibtorch) {
  const at::Tensor x = at::randn({3, 4, 5}), image = at::randn({3, 4, 5, 6}),
                   volume = at::randn({2, 3, 2, 2, 2});
  expect_equal_to_libtorch({
      compare(Dropout(0.3), T::Dropout(0.3), {x}),
      compare(Dropout(0.3, {{"inplace", true}}), T::Dropout(T::DropoutOptions(0.3).inplace(true)),
              {x}),
      compare(layer("torch.nn.Dropout2d", {0.4}), T::Dropout2d(0.4), {image}),
      compare(layer("torch.nn.Dropout3d", {0.4}), T::Dropout3d(0.4), {volume}),
      compare(layer("torch.nn.AlphaDropout", {0.4}), T::AlphaDropout(0.4), {x}),
      compare(layer("torch.nn.FeatureAlphaDropout", {0.4}), T::FeatureAlphaDropout(0.4), {image}),
  });
}

/// Layers that libtorch has no C++ module for.
TEST(Layers, DropoutsWithoutLibtorchModule) {
  const at::Tensor x = at::randn({4, 3, 5});
  const auto ours = [&](const ModulePtr& layer, bool training) {
    layer->train(training);
    at::manual_seed(3);
    return (*layer)(x).tensor();
  };
  const ModulePtr dropout1d = layer("torch.nn.Dropout1d", {0.5});
  at::manual_seed(3);
  EXPECT_TRUE(
      at::equal(ours(dropout1d, true), (at::manual_seed(3), at::feature_dropout(x, 0.5, true))));
  EXPECT_TRUE(at::equal(ours(dropout1d, false), x));
  for (const char* type :
       {"torchvision.ops.StochasticDepth", "torchvision.ops.stochastic_depth.StochasticDepth"}) {
    const ModulePtr depth = layer(type, {0.5, "row"});
    at::manual_seed(3);
    const at::Tensor noise = at::empty({4, 1, 1}).bernoulli_(0.5).div_(0.5);
    EXPECT_TRUE(at::equal(ours(depth, true), x * noise));
    EXPECT_TRUE(at::equal(ours(depth, false), x));
  }
  // Counts these for the coverage check, with a probability of 0: they are the identity.
  const auto identity = [](const Tensors& t) { return Tensors{t[0] * 1}; };
  for (const ModulePtr& layer :
       {layer("torch.nn.Dropout1d", {0.0}), layer("torchvision.ops.StochasticDepth", {0.0, "row"}),
        layer("torchvision.ops.stochastic_depth.StochasticDepth", {0.0, "batch"})}) {
    expect_equal_to_libtorch({{layer, nullptr, identity, {x}}});
  }
}

}  // namespace
}  // namespace sparsebit::nn::test::layers_activation_test
