#include "passes/pass_case.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/passes/fuse/channel_affine.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::fuse_bn_test {
namespace {

using test::model_of;
using test::Modules;
using test::random_input;
using test::randomize;
using test::run_and_compare;
using test::short_text;

constexpr const char* kLayerThenNorm =
    "%x = input()\n%a = self.layer(%x)\n%b = self.bn(%a)\nreturn %b";
constexpr const char* kNormThenLayer =
    "%x = input()\n%a = self.bn(%x)\n%b = self.layer(%a)\nreturn %b";

std::unique_ptr<fx::GraphModule> randomized(const std::string& text, const Modules& modules,
                                            const test::Tensors& buffers = {}) {
  auto module = model_of(text, modules, buffers);
  randomize(*module);
  return module;
}

struct FuseCase {
  const char* name;
  std::function<fx::ModulePtr()> layer, norm;
  std::vector<int64_t> shape;
};

class FuseBn : public testing::TestWithParam<FuseCase> {};

TEST_P(FuseBn, GivesTheSame) {
  const auto module =
      randomized(kLayerThenNorm, {{"layer", GetParam().layer()}, {"bn", GetParam().norm()}});
  const fx::Value input = random_input(GetParam().shape);
  fx::record_shapes(*module, {input});
  EXPECT_EQ(run_and_compare(*module, {"fuse_bn"}, {input}),
            "%x = input()\n%a = self.layer(%x)\nreturn %a\n");
  EXPECT_FALSE(module->find_module("bn"));
}

const fx::Kwargs kNoBias = {{"bias", false}};

INSTANTIATE_TEST_SUITE_P(
    Layers, FuseBn,
    testing::Values(FuseCase{"conv1d",
                             [] { return nn::Conv1d(4, 6, 3); },
                             [] { return nn::BatchNorm1d(6); },
                             {2, 4, 8}},
                    FuseCase{"conv2d",
                             [] { return nn::Conv2d(4, 6, 3); },
                             [] { return nn::BatchNorm2d(6); },
                             {2, 4, 5, 5}},
                    FuseCase{"no_bias",
                             [] { return nn::Conv2d(4, 6, 3, kNoBias); },
                             [] { return nn::BatchNorm2d(6); },
                             {2, 4, 5, 5}},
                    FuseCase{"not_affine",
                             [] { return nn::Conv2d(4, 6, 3); },
                             [] {
                               return nn::BatchNorm2d(6, {{"affine", false}});
                             },
                             {2, 4, 5, 5}},
                    FuseCase{"groups",
                             [] {
                               return nn::Conv2d(4, 6, 3, {{"groups", 2}});
                             },
                             [] { return nn::BatchNorm2d(6); },
                             {2, 4, 5, 5}},
                    FuseCase{"depthwise",
                             [] {
                               return nn::Conv2d(4, 4, 3, {{"groups", 4}, {"padding", 1}});
                             },
                             [] { return nn::BatchNorm2d(4); },
                             {2, 4, 5, 5}},
                    FuseCase{"conv3d",
                             [] { return nn::Conv3d(2, 3, 2); },
                             [] { return nn::BatchNorm3d(3); },
                             {1, 2, 4, 4, 4}},
                    FuseCase{"transposed1d",
                             [] { return nn::ConvTranspose1d(4, 6, 3); },
                             [] { return nn::BatchNorm1d(6); },
                             {2, 4, 5}},
                    FuseCase{"transposed2d",
                             [] {
                               return nn::ConvTranspose2d(
                                   4, 6, 3, {{"stride", 2}, {"padding", 1}, {"output_padding", 1}});
                             },
                             [] { return nn::BatchNorm2d(6); },
                             {2, 4, 5, 5}},
                    FuseCase{"transposed_groups",
                             [] {
                               return nn::ConvTranspose2d(4, 6, 3, {{"groups", 2}});
                             },
                             [] { return nn::BatchNorm2d(6); },
                             {2, 4, 5, 5}},
                    FuseCase{"transposed3d",
                             [] { return nn::ConvTranspose3d(2, 3, 2); },
                             [] { return nn::BatchNorm3d(3); },
                             {1, 2, 3, 3, 3}},
                    FuseCase{"linear",
                             [] { return nn::Linear(4, 6); },
                             [] { return nn::BatchNorm1d(6); },
                             {3, 4}}),
    [](const auto& info) { return std::string(info.param.name); });

// The formulas computed by hand: gamma -2, beta 1, mean 3, variance 4 - eps.
TEST(FuseBnNumbers, FollowTheFormula) {
  const auto module =
      model_of(kLayerThenNorm, {{"layer", nn::Conv2d(1, 1, 1)}, {"bn", nn::BatchNorm2d(1)}});
  const at::NoGradGuard no_gradients;
  const auto set = [&](const char* path, double value) {
    at::Tensor tensor = *module->find_tensor(path);
    tensor.fill_(value);
  };
  set("layer.weight", 5);
  set("layer.bias", 7);
  set("bn.weight", -2);
  set("bn.bias", 1);
  set("bn.running_mean", 3);
  set("bn.running_var", 4 - 1e-5);
  run_selected(*module, {"fuse_bn"});
  EXPECT_FLOAT_EQ(module->find_tensor("layer.weight")->item<float>(), 5 * -2 / 2.0F);
  EXPECT_FLOAT_EQ(module->find_tensor("layer.bias")->item<float>(), (7 - 3) * -2 / 2.0F + 1);
}

TEST(FuseBnRefuses, TrainingAndMissingStatistics) {
  const auto training =
      randomized(kLayerThenNorm, {{"layer", nn::Conv2d(2, 2, 1)}, {"bn", nn::BatchNorm2d(2)}});
  training->train();
  EXPECT_TRUE(run_selected(*training, {"fuse_bn"}).changes.empty());
  const auto untracked =
      randomized(kLayerThenNorm, {{"layer", nn::Conv2d(2, 2, 1)},
                                  {"bn", nn::BatchNorm2d(2, {{"track_running_stats", false}})}});
  EXPECT_TRUE(run_selected(*untracked, {"fuse_bn"}).changes.empty());
}

// The convolution's own result would be lost (B-27).
TEST(FuseBnRefuses, AConvolutionWithOtherUsers) {
  const auto module = randomized(
      "%x = input()\n%a = self.layer(%x)\n%b = self.bn(%a)\n%c = torch.add(%a, %b)\nreturn %c",
      {{"layer", nn::Conv2d(2, 2, 1)}, {"bn", nn::BatchNorm2d(2)}});
  EXPECT_TRUE(run_selected(*module, {"fuse_bn"}).changes.empty());
}

TEST(FuseBnRefuses, ALinearLayerOnSequences) {
  // Axis 1 is the length here, not the features, even though both have size 6.
  const auto module =
      randomized(kLayerThenNorm, {{"layer", nn::Linear(4, 6)}, {"bn", nn::BatchNorm1d(6)}});
  fx::record_shapes(*module, {random_input({2, 6, 4})});
  EXPECT_TRUE(run_selected(*module, {"fuse_bn"}).changes.empty());
}

// Without a batch, axis 1 of a convolution's result is the image rows.
TEST(FuseBnRefuses, AConvolutionWithoutABatch) {
  const auto module =
      randomized(kLayerThenNorm, {{"layer", nn::Conv2d(3, 4, 3)}, {"bn", nn::BatchNorm1d(4)}});
  fx::record_shapes(*module, {random_input({3, 6, 6})});
  EXPECT_TRUE(run_selected(*module, {"fuse_bn"}).changes.empty());
}

TEST(FuseBnRefuses, OptionsThatAreComputed) {
  const auto module = randomized(
      "%x = input()\n%n = %x.size(0)\n%w = self.w\n"
      "%a = torch.nn.functional.conv2d(%x, %w, None, %n)\n%b = self.bn(%a)\nreturn %b",
      {{"bn", nn::BatchNorm2d(2)}}, {{"w", at::randn({2, 2, 1, 1})}});
  EXPECT_TRUE(run_selected(*module, {"fuse_bn"}).changes.empty());
}

TEST(FuseBnRefuses, StatisticsThatTheGraphWrites) {
  const auto module = randomized(
      "%x = input()\n%m = self.bn.running_mean\n%n = %m.add_(1)\n%a = self.layer(%x)\n"
      "%b = self.bn(%a)\nreturn (%b, %n)",
      {{"layer", nn::Conv2d(2, 2, 1)}, {"bn", nn::BatchNorm2d(2)}});
  EXPECT_TRUE(run_selected(*module, {"fuse_bn"}).changes.empty());
}

TEST(FuseBnFunctions, WeightsAndStatisticsReadFromTheModel) {
  const auto module = randomized(
      "%x = input()\n%w = self.w\n%m = self.m\n%v = self.v\n"
      "%a = torch.nn.functional.conv2d(%x, %w)\n"
      "%b = torch.nn.functional.batch_norm(%a, %m, %v)\nreturn %b",
      {}, {{"w", at::randn({2, 3, 1, 1})}, {"m", at::ones({2})}, {"v", at::ones({2})}});
  const fx::Value input = random_input({1, 3, 4, 4});
  fx::record_shapes(*module, {input});
  EXPECT_EQ(run_and_compare(*module, {"fuse_bn"}, {input}),
            "%x = input()\n%a_bn = self.a_bn(%x)\nreturn %a_bn\n");
}

TEST(FuseBnChain, HoweverMany) {
  auto graph = std::make_unique<fx::Graph>();
  fx::Node* last = &graph->call_module("layer", {graph->placeholder("x")});
  fx::Module root("Root", fx::Schema());
  root.add_module("layer", nn::Conv2d(2, 2, 1));
  for (int i = 0; i < 80; ++i) {
    const std::string name = "bn" + std::to_string(i);
    root.add_module(name, nn::BatchNorm2d(2));
    last = &graph->call_module(name, {*last});
  }
  graph->output(*last);
  fx::GraphModule module(root, std::move(graph), "Model");
  module.eval();
  run_selected(module, {"fuse_bn"});
  EXPECT_EQ(module.graph().size(), 3u);
}

// A weight that is also read by get_attr must not be changed.
TEST(FuseBnShared, AWeightThatIsReadBesides) {
  const auto module = randomized(
      "%x = input()\n%a = self.layer(%x)\n%b = self.bn(%a)\n%w = self.layer.weight\n"
      "%c = torch.matmul(%b, %w)\nreturn %c",
      {{"layer", nn::Linear(4, 6)}, {"bn", nn::BatchNorm1d(6)}});
  const fx::Value input = random_input({3, 4});
  fx::record_shapes(*module, {input});
  EXPECT_EQ(run_and_compare(*module, {"fuse_bn"}, {input}),
            "%x = input()\n%layer_bn = self.layer_bn(%x)\n%w = self.layer.weight\n"
            "%c = torch.matmul(%layer_bn, %w)\nreturn %c\n");
}

// No layer is added to a module that is called as a whole.
TEST(FuseBnShared, ALayerInsideACalledModule) {
  const auto block = std::make_shared<fx::Module>("Block", "x");
  block->add_module("conv", nn::Conv2d(2, 2, 1));
  const auto module = randomized(
      "%x = input()\n%a = self.block.conv(%x)\n%b = self.bn(%a)\n%c = self.block(%b)\nreturn %c",
      {{"block", block}, {"bn", nn::BatchNorm2d(2)}});
  run_selected(*module, {"fuse_bn"});
  EXPECT_TRUE(module->find_module("a_bn"));
  EXPECT_FALSE(block->find_module("conv_bn"));
}

TEST(FuseBnShared, AContainerAtTwoPathsKeepsItsLayers) {
  const auto block = std::make_shared<fx::Module>("Module", fx::Schema());
  block->add_module("conv", nn::Conv2d(2, 2, 1));
  const auto module = randomized(
      "%x = input()\n%a = self.enc.conv(%x)\n%b = self.bn(%a)\n%c = self.dec.conv(%b)\nreturn %c",
      {{"enc", block}, {"dec", block}, {"bn", nn::BatchNorm2d(2)}});
  run_and_compare(*module, {"fuse_bn"}, {random_input({1, 2, 3, 3})});
}

TEST(FuseBnShared, AConvolutionThatIsCalledTwiceKeepsItsWeights) {
  const auto module = randomized(R"(
      %x = input()
      %a = self.layer(%x)
      %b = self.first(%a)
      %c = self.layer(%b)
      %d = self.second(%c)
      return %d)",
                                 {{"layer", nn::Conv2d(2, 2, 1)},
                                  {"first", nn::BatchNorm2d(2)},
                                  {"second", nn::BatchNorm2d(2)}});
  EXPECT_EQ(run_and_compare(*module, {"fuse_bn"}, {random_input({1, 2, 3, 3})}),
            "%x = input()\n%layer_bn = self.layer_bn(%x)\n"
            "%layer_bn_1 = self.layer_bn_1(%layer_bn)\nreturn %layer_bn_1\n");
}

TEST(FuseBnShared, TheModelOfTheCallerKeepsItsWeights) {
  const fx::ModulePtr conv = nn::Conv2d(2, 2, 1);
  const auto module = randomized(kLayerThenNorm, {{"layer", conv}, {"bn", nn::BatchNorm2d(2)}});
  const at::Tensor before = conv->find_tensor("weight")->clone();
  run_selected(*module, {"fuse_bn"});
  EXPECT_TRUE(at::equal(*conv->find_tensor("weight"), before));
  EXPECT_FALSE(at::equal(*module->find_tensor("layer.weight"), before));
}

TEST(FuseBnInPlace, WhatIsWrittenLaterIsFused) {
  const auto module = randomized(
      "%x = input()\n%a = self.layer(%x)\n%b = self.bn(%a)\n%c = operator.iadd(%b, %x)\nreturn %c",
      {{"layer", nn::Conv2d(2, 2, 1)}, {"bn", nn::BatchNorm2d(2)}});
  EXPECT_EQ(run_and_compare(*module, {"fuse_bn"}, {random_input({1, 2, 3, 3})}),
            "%x = input()\n%a = self.layer(%x)\n%c = operator.iadd(%a, %x)\nreturn %c\n");
}

// --- batch norm first ---------------------------------------------------------------------------

class FuseBnBefore : public testing::TestWithParam<FuseCase> {};

TEST_P(FuseBnBefore, GivesTheSame) {
  const auto module =
      randomized(kNormThenLayer, {{"layer", GetParam().layer()}, {"bn", GetParam().norm()}});
  const fx::Value input = random_input(GetParam().shape);
  fx::record_shapes(*module, {input});
  EXPECT_EQ(run_and_compare(*module, {"fuse_bn_before"}, {input}),
            "%x = input()\n%b = self.layer(%x)\nreturn %b\n");
}

INSTANTIATE_TEST_SUITE_P(
    Layers, FuseBnBefore,
    testing::Values(
        FuseCase{"conv",
                 [] { return nn::Conv2d(4, 6, 3); },
                 [] { return nn::BatchNorm2d(4); },
                 {2, 4, 5, 5}},
        FuseCase{"groups",
                 [] {
                   return nn::Conv2d(4, 6, 3, {{"groups", 2}, {"bias", false}});
                 },
                 [] { return nn::BatchNorm2d(4); },
                 {2, 4, 5, 5}},
        FuseCase{"reflect",
                 [] {
                   return nn::Conv2d(4, 6, 3, {{"padding", 1}, {"padding_mode", "reflect"}});
                 },
                 [] { return nn::BatchNorm2d(4); },
                 {2, 4, 5, 5}},
        FuseCase{
            "linear", [] { return nn::Linear(4, 6); }, [] { return nn::BatchNorm1d(4); }, {3, 4}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(FuseBnBeforeRefuses, ZerosAroundTheInput) {
  const auto padded = randomized(kNormThenLayer, {{"layer", nn::Conv2d(2, 2, 3, {{"padding", 1}})},
                                                  {"bn", nn::BatchNorm2d(2)}});
  EXPECT_TRUE(run_selected(*padded, {"fuse_bn_before"}).changes.empty());
  const auto transposed = randomized(
      kNormThenLayer, {{"layer", nn::ConvTranspose2d(2, 2, 3)}, {"bn", nn::BatchNorm2d(2)}});
  EXPECT_TRUE(run_selected(*transposed, {"fuse_bn_before"}).changes.empty());
}

TEST(FuseBnBeforePadding, ZerosStayZerosWhereNothingIsShifted) {
  const auto module = randomized(kNormThenLayer, {{"layer", nn::Conv2d(2, 2, 3, {{"padding", 1}})},
                                                  {"bn", nn::BatchNorm2d(2)}});
  const at::NoGradGuard no_gradients;
  at::Tensor mean = *module->find_tensor("bn.running_mean"), beta = *module->find_tensor("bn.bias");
  mean.zero_();
  beta.zero_();
  EXPECT_EQ(run_and_compare(*module, {"fuse_bn_before"}, {random_input({1, 2, 4, 4})}),
            "%x = input()\n%b = self.layer(%x)\nreturn %b\n");
}

// --- quantized weights --------------------------------------------------------------------------

// Integers stay the same, or are mirrored, and represent the weight times the factor (B-28).
TEST(ScaleGrid, KeepsTheIntegersWhateverTheSign) {
  const int64_t lowest = -128, highest = 127;
  const at::Tensor factor = at::tensor({2.0, -0.5, 1.0}).to(at::kDouble);
  const WeightGrid grid{at::tensor({0.1, 0.2, 0.3}), at::tensor({0, 3, -7})};
  const at::Tensor codes = at::arange(lowest, highest + 1).expand({3, 256});
  const WeightGrid scaled = scale_grid(grid, factor, lowest, highest);
  EXPECT_TRUE(scaled.scale.gt(0).all().item<bool>());
  const auto column = [](const at::Tensor& tensor) { return tensor.unsqueeze(1); };
  const at::Tensor weight = (codes - column(grid.zero_point)) * column(grid.scale);
  const at::Tensor negative = column(factor.lt(0));
  const at::Tensor new_codes = at::where(negative, lowest + highest - codes, codes);
  EXPECT_GE(new_codes.min().item<int64_t>(), lowest);
  EXPECT_LE(new_codes.max().item<int64_t>(), highest);
  const at::Tensor found = (new_codes - column(scaled.zero_point)) * column(scaled.scale);
  EXPECT_TRUE(at::allclose(found, weight * column(factor).to(at::kFloat), 1e-5, 1e-6));
}

TEST(ScaleGrid, ADeadChannelKeepsAScaleToDivideBy) {
  const WeightGrid scaled =
      scale_grid({at::tensor({0.5}), at::tensor({3})}, at::zeros({1}, at::kDouble), -128, 127);
  EXPECT_EQ(scaled.scale.item<float>(), 0.5F);
  EXPECT_EQ(scaled.zero_point.item<int64_t>(), 3);
}

// A bias and a batch norm without gamma and beta, on which the Python Sparsebit crashed (B-41).
TEST(ReadBatchNorm, MissingParametersCountAsOneAndZero) {
  const auto module = model_of("%x = input()\n%a = self.bn(%x)\nreturn %a",
                               {{"bn", nn::BatchNorm2d(2, {{"affine", false}})}});
  randomize(*module);
  const auto call = fx::resolve(*module->graph().find("a"), *module);
  const auto affine = read_batch_norm(call->args);
  ASSERT_TRUE(affine);
  const at::Tensor mean = module->find_tensor("bn.running_mean")->to(at::kDouble);
  const at::Tensor variance = module->find_tensor("bn.running_var")->to(at::kDouble);
  EXPECT_TRUE(at::allclose(affine->factor, (variance + 1e-5).rsqrt()));
  EXPECT_TRUE(at::allclose(affine->shift, -mean * (variance + 1e-5).rsqrt()));
}

}  // namespace
}  // namespace sparsebit::passes::fuse_bn_test
