#include "passes/pass_case.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::equalize_layers_test {
namespace {

using test::model_of;
using test::Modules;
using test::outputs_of;
using test::random_input;
using test::randomize;
using test::run_and_compare;
using test::short_text;

constexpr double kTolerance = 1e-4;

/// Weights whose channels have very different ranges.
void spread(fx::GraphModule& module) {
  randomize(module);
  const at::NoGradGuard no_gradients;
  for (const auto& item : module.named_parameters()) {
    at::Tensor tensor = item.value();
    if (tensor.dim() < 2) continue;
    std::vector<int64_t> shape(static_cast<size_t>(tensor.dim()), 1);
    shape[0] = tensor.size(0);
    tensor.mul_(at::logspace(-1.5, 1.5, tensor.size(0)).view(shape));
  }
}

double ratio_of_ranges(const fx::GraphModule& module, const char* path) {
  const at::Tensor ranges = module.find_tensor(path)->detach().abs().flatten(1).amax(1);
  return (ranges.max() / ranges.min()).item<double>();
}

TEST(EqualizeLayers, TwoConvolutionsThroughRelu) {
  const auto module =
      model_of("%x = input()\n%a = self.one(%x)\n%b = self.act(%a)\n%c = self.two(%b)\nreturn %c",
               {{"one", nn::Conv2d(3, 8, 3)}, {"act", nn::ReLU()}, {"two", nn::Conv2d(8, 4, 3)}});
  spread(*module);
  EXPECT_GT(ratio_of_ranges(*module, "one.weight"), 100);
  run_and_compare(*module, {"equalize_layers"}, {random_input({1, 3, 8, 8})}, kTolerance);
  const at::Tensor one = module->find_tensor("one.weight")->abs().flatten(1).amax(1);
  const at::Tensor two = module->find_tensor("two.weight")->abs().amax({0, 2, 3});
  EXPECT_TRUE(at::allclose(one, two, 1e-2)) << one << two;
}

TEST(EqualizeLayers, ThroughEveryActivationAndNone) {
  for (const char* step :
       {"torch.relu(%a)", "torch.nn.functional.leaky_relu(%a, 0.1)", "self.prelu(%a)",
        "torch.clamp(%a, min=0)", "torch.maximum(%a, %z)", "%a.view_as(%a)"}) {
    SCOPED_TRACE(step);
    const auto module = model_of(std::string("%x = input()\n%z = self.zero\n%a = self.one(%x)\n") +
                                     "%b = " + step + "\n%c = self.two(%b)\nreturn %c",
                                 {{"one", nn::Linear(4, 8)},
                                  {"prelu", nn::PReLU({{"num_parameters", 8}})},
                                  {"two", nn::Linear(8, 3)}});
    spread(*module);
    module->add_buffer("zero", at::zeros({}));
    const bool passes_through = std::string(step).find("view_as") == std::string::npos;
    const double before = ratio_of_ranges(*module, "one.weight");
    run_and_compare(*module, {"equalize_layers"}, {random_input({5, 4})}, kTolerance);
    if (passes_through) {
      EXPECT_LT(ratio_of_ranges(*module, "one.weight"), before);
    } else {
      EXPECT_EQ(ratio_of_ranges(*module, "one.weight"), before);
    }
  }
}

TEST(EqualizeLayers, LayersWithNothingBetweenThem) {
  const auto module = model_of("%x = input()\n%a = self.one(%x)\n%b = self.two(%a)\nreturn %b",
                               {{"one", nn::Linear(4, 8)}, {"two", nn::Linear(8, 3)}});
  spread(*module);
  const double before = ratio_of_ranges(*module, "one.weight");
  run_and_compare(*module, {"equalize_layers"}, {random_input({5, 4})}, kTolerance);
  EXPECT_LT(ratio_of_ranges(*module, "one.weight"), before);
}

TEST(EqualizeLayers, ABiasOfTwoLayersStaysOne) {
  const auto module = model_of("%x = input()\n%a = self.one(%x)\n%b = self.two(%a)\nreturn %b",
                               {{"one", nn::Linear(4, 4)}, {"two", nn::Linear(4, 4)}});
  module->find_module("two")->add_parameter("bias", *module->find_tensor("one.bias"));
  spread(*module);
  EXPECT_TRUE(run_selected(*module, {"equalize_layers"}).changes.empty());
}

// Scaling a channel by ten would give a bias beyond the largest float16, 65504.
TEST(EqualizeLayers, NumbersThatTheTypeCannotHoldAreNotMade) {
  const auto module =
      model_of("%x = input()\n%a = self.one(%x)\n%b = torch.relu(%a)\n%c = self.two(%b)\nreturn %c",
               {{"one", nn::Linear(2, 2)}, {"two", nn::Linear(2, 2)}});
  const at::NoGradGuard no_gradients;
  module->set_tensor("one.weight", at::tensor({0.1, 0.1, 1., 1.}).view({2, 2}));
  module->set_tensor("two.weight", at::tensor({10., 1., 10., 1.}).view({2, 2}));
  module->set_tensor("one.bias", at::tensor({60000., 1.}));
  module->to(at::kHalf);
  run_selected(*module, {"equalize_layers"});
  for (const auto& item : module->named_parameters())
    EXPECT_TRUE(at::isfinite(item.value()).all().item<bool>()) << item.key() << item.value();
}

TEST(EqualizeLayers, Relu6GetsALimitPerChannel) {
  const auto module =
      model_of("%x = input()\n%a = self.one(%x)\n%b = self.act(%a)\n%c = self.two(%b)\nreturn %c",
               {{"one", nn::Conv2d(3, 8, 3)}, {"act", nn::ReLU6()}, {"two", nn::Conv2d(8, 4, 3)}});
  spread(*module);
  EXPECT_EQ(run_and_compare(*module, {"equalize_layers"}, {random_input({1, 3, 8, 8})}, kTolerance),
            "%x = input()\n%a = self.one(%x)\n%relu = torch.relu(%a)\n%b_limit = self.b_limit\n"
            "%minimum = torch.minimum(%relu, %b_limit)\n%c = self.two(%minimum)\nreturn %c\n");
}

// Bounds of a clamp may be constant tensors.
TEST(EqualizeLayers, LimitsThatAreTensors) {
  const auto module = model_of(
      "%x = input()\n%l = self.low\n%h = self.high\n%a = self.one(%x)\n"
      "%b = torch.clamp(%a, %l, %h)\n%c = self.two(%b)\nreturn %c",
      {{"one", nn::Conv2d(3, 8, 3)}, {"two", nn::Conv2d(8, 4, 3)}},
      {{"low", at::zeros({})}, {"high", at::full({}, 6.)}});
  spread(*module);
  const at::NoGradGuard no_gradients;
  at::Tensor low = *module->find_tensor("low"), high = *module->find_tensor("high");
  low.fill_(0);
  high.fill_(6);
  EXPECT_NE(run_and_compare(*module, {"equalize_layers"}, {random_input({1, 3, 8, 8})}, kTolerance)
                .find("torch.minimum"),
            std::string::npos);
}

// As in ONNX files; a clamp with another lower bound than 0 is not scaled.
TEST(EqualizeLayers, ClampsAreLimitsToo) {
  for (const char* bounds : {"0, 4", "-1, 1"}) {
    const auto module = model_of(std::string("%x = input()\n%a = self.one(%x)\n"
                                             "%b = torch.clamp(%a, ") +
                                     bounds + ")\n%c = self.two(%b)\nreturn %c",
                                 {{"one", nn::Conv2d(3, 8, 3)}, {"two", nn::Conv2d(8, 4, 3)}});
    spread(*module);
    const std::string text =
        run_and_compare(*module, {"equalize_layers"}, {random_input({1, 3, 8, 8})}, kTolerance);
    EXPECT_EQ(text.find("torch.minimum") != std::string::npos, bounds[0] == '0') << text;
  }
}

TEST(EqualizeLayers, ChainsWithDepthwiseAndGroups) {
  const auto module = model_of(R"(
      %x = input()
      %a = self.expand(%x)
      %b = torch.relu(%a)
      %c = self.depthwise(%b)
      %d = torch.relu(%c)
      %e = self.project(%d)
      %f = torch.relu(%e)
      %g = self.up(%f)
      return %g)",
                               {{"expand", nn::Conv2d(3, 8, 1)},
                                {"depthwise", nn::Conv2d(8, 8, 3, {{"groups", 8}, {"padding", 1}})},
                                {"project", nn::Conv2d(8, 4, 1, {{"groups", 2}})},
                                {"up", nn::ConvTranspose2d(4, 6, 2, {{"groups", 2}})}});
  spread(*module);
  const std::vector<fx::Value> inputs = {random_input({1, 3, 8, 8})};
  run_and_compare(*module, {"equalize_layers"}, inputs, kTolerance);
  const at::Tensor first = module->find_tensor("expand.weight")->abs().flatten(1).amax(1);
  const at::Tensor second = module->find_tensor("depthwise.weight")->abs().flatten(1).amax(1);
  EXPECT_TRUE(at::allclose(first, second, 5e-2));
}

// The weight of the middle layer ends unchanged, but its bias does not.
TEST(EqualizeLayers, BiasesFollowEvenIfWeightsReturn) {
  const auto module = model_of(
      "%x = input()\n%a = self.one(%x)\n%b = self.two(%a)\n%c = self.three(%b)\nreturn %c",
      {{"one", nn::Conv2d(1, 1, 1)}, {"two", nn::Conv2d(1, 1, 1)}, {"three", nn::Conv2d(1, 1, 1)}});
  {
    const at::NoGradGuard no_gradients;
    const auto fill = [&](const char* path, double value) {
      at::Tensor tensor = *module->find_tensor(path);
      tensor.fill_(value);
    };
    for (const char* path : {"one.bias", "three.bias"}) fill(path, 0);
    fill("one.weight", 4);
    fill("two.weight", 2);
    fill("three.weight", 1);
    fill("two.bias", 1);
  }
  run_and_compare(*module, {"equalize_layers"}, {random_input({1, 1, 2, 2})}, kTolerance);
}

// Layers with equal ranges are not changed, nor is the limit of the relu6.
TEST(EqualizeLayers, EqualLayersStay) {
  const auto module =
      model_of("%x = input()\n%a = self.one(%x)\n%b = self.act(%a)\n%c = self.two(%b)\nreturn %c",
               {{"one", nn::Conv2d(1, 1, 1)}, {"act", nn::ReLU6()}, {"two", nn::Conv2d(1, 1, 1)}});
  const at::NoGradGuard no_gradients;
  at::Tensor one = *module->find_tensor("one.weight"), two = *module->find_tensor("two.weight");
  one.fill_(1);
  two.fill_(1.0005);
  EXPECT_TRUE(run_selected(*module, {"equalize_layers"}).changes.empty());
}

TEST(EqualizeLayers, WhatOthersReadStays) {
  const auto check = [](const std::string& text) {
    const auto module =
        model_of(text, {{"one", nn::Conv2d(4, 4, 1)}, {"two", nn::Conv2d(4, 4, 1)}});
    spread(*module);
    EXPECT_TRUE(run_selected(*module, {"equalize_layers"}).changes.empty());
  };
  check("%x = input()\n%a = self.one(%x)\n%b = self.two(%a)\n%c = torch.add(%a, %b)\nreturn %c");
  check("%x = input()\n%a = self.one(%x)\n%b = torch.sigmoid(%a)\n%c = self.two(%b)\nreturn %c");
  check("%x = input()\n%a = self.one(%x)\n%b = self.one(%a)\n%c = self.one(%b)\nreturn %c");
}

// The bias of an almost unused channel must not become infinite.
TEST(EqualizeLayers, FactorsAreBounded) {
  const auto module = model_of("%x = input()\n%a = self.one(%x)\n%b = self.two(%a)\nreturn %b",
                               {{"one", nn::Conv2d(3, 4, 1)}, {"two", nn::Conv2d(4, 2, 1)}});
  spread(*module);
  const at::Tensor before = module->find_tensor("one.bias")->detach().clone();
  {
    const at::NoGradGuard no_gradients;
    module->find_tensor("one.weight")->select(0, 1).mul_(1e-30);
  }
  run_and_compare(*module, {"equalize_layers"}, {random_input({1, 3, 4, 4})}, kTolerance);
  const at::Tensor factor = module->find_tensor("one.bias")->detach() / before;
  EXPECT_LE(factor.max().item<double>(), 101);
}

TEST(EqualizeLayers, SharedWeightsStayShared) {
  const fx::ModulePtr one = nn::Linear(4, 4), two = nn::Linear(4, 4);
  two->add_parameter("weight", *one->find_tensor("weight"));
  const auto tied = model_of("%x = input()\n%a = self.one(%x)\n%b = self.two(%a)\nreturn %b",
                             {{"one", one}, {"two", two}});
  spread(*tied);
  EXPECT_TRUE(run_selected(*tied, {"equalize_layers"}).changes.empty());
}

TEST(EqualizeLayers, ChannelsThatAreOffStay) {
  const auto module = model_of("%x = input()\n%a = self.one(%x)\n%b = self.two(%a)\nreturn %b",
                               {{"one", nn::Conv2d(3, 4, 1)}, {"two", nn::Conv2d(4, 2, 1)}});
  spread(*module);
  {
    const at::NoGradGuard no_gradients;
    module->find_tensor("one.weight")->select(0, 1).zero_();
    module->find_tensor("two.weight")->select(1, 2).zero_();
  }
  run_and_compare(*module, {"equalize_layers"}, {random_input({1, 3, 4, 4})}, kTolerance);
  EXPECT_TRUE(module->find_tensor("one.weight")->isfinite().all().item<bool>());
}

}  // namespace
}  // namespace sparsebit::passes::equalize_layers_test
