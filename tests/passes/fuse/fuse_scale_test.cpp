#include "passes/pass_case.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::fuse_scale_test {
namespace {

using test::model_of;
using test::random_input;
using test::run_and_compare;
using testing::ElementsAre;

struct ScaleCase {
  const char* step;
  std::vector<int64_t> constant;
  bool folds;
};

std::string text_with(const std::string& step) {
  return "%x = input()\n%k = self.k\n%a = self.layer(%x)\n%y = " + step + "\nreturn %y";
}

/// Runs the pass on a layer and a node that reads the layer and a constant %k of this shape.
void expect_case(const ScaleCase& given, const fx::ModulePtr& layer, const fx::Value& input) {
  SCOPED_TRACE(c10::str(given.step, " ", at::IntArrayRef(given.constant)));
  const auto module = model_of(text_with(given.step), {{"layer", layer->clone()}},
                               {{"k", at::rand(given.constant) + 0.5}});
  fx::record_shapes(*module, {input});
  const std::string text = run_and_compare(*module, {"fuse_scale"}, {input});
  EXPECT_EQ(text == "%x = input()\n%a = self.layer(%x)\nreturn %a\n", given.folds) << text;
}

TEST(FuseScale, ChannelsOfAConvolution) {
  const std::vector<ScaleCase> cases = {{"torch.mul(%a, %k)", {1, 6, 1, 1}, true},
                                        {"torch.mul(%k, %a)", {6, 1, 1}, true},
                                        {"torch.add(%a, %k)", {1, 6, 1, 1}, true},
                                        {"torch.sub(%a, %k)", {6, 1, 1}, true},
                                        {"torch.div(%a, %k)", {1, 6, 1, 1}, true},
                                        {"torch.mul(%a, %k)", {1, 1, 1, 1}, true},
                                        {"torch.mul(%a, 2)", {1}, true},
                                        {"torch.sub(%k, %a)", {6, 1, 1}, false},
                                        {"torch.div(%k, %a)", {6, 1, 1}, false},
                                        {"torch.add(%a, %k, alpha=2)", {6, 1, 1}, false},
                                        {"torch.mul(%a, %k)", {6}, false},
                                        {"torch.mul(%a, %k)", {2, 1, 1, 1}, false},
                                        {"torch.mul(%a, %k)", {1, 1, 6, 1, 1}, false}};
  for (const ScaleCase& given : cases)
    expect_case(given, nn::Conv2d(4, 6, 3, {{"groups", 2}}), random_input({2, 4, 8, 8}));
  for (const ScaleCase& given : cases)
    expect_case(given, nn::ConvTranspose2d(4, 6, 3, {{"groups", 2}, {"bias", false}}),
                random_input({2, 4, 4, 4}));
}

TEST(FuseScale, ColumnsOfALinearLayer) {
  for (const ScaleCase& given :
       {ScaleCase{"torch.mul(%a, %k)", {6}, true}, ScaleCase{"torch.add(%a, %k)", {1, 1, 6}, true},
        ScaleCase{"torch.mul(%a, %k)", {5, 1}, false},
        ScaleCase{"torch.mul(%a, %k)", {1, 1, 1, 6}, false}})
    expect_case(given, nn::Linear(4, 6), random_input({2, 5, 4}));
}

// A frozen batch norm, as written by detection networks.
TEST(FuseScale, ScaleAndShiftInOneRun) {
  const auto module =
      model_of(R"(
      %x = input()
      %w = self.weight
      %b = self.bias
      %a = self.layer(%x)
      %s = operator.mul(%a, %w)
      %t = operator.add(%s, %b)
      %y = torch.relu(%t)
      return %y)",
               {{"layer", nn::Conv2d(4, 6, 3, {{"bias", false}})}},
               {{"weight", at::randn({1, 6, 1, 1})}, {"bias", at::randn({1, 6, 1, 1})}});
  const fx::Value input = random_input({2, 4, 8, 8});
  fx::record_shapes(*module, {input});
  EXPECT_EQ(run_and_compare(*module, {"fuse_scale"}, {input}),
            "%x = input()\n%a = self.layer(%x)\n%y = torch.relu(%a)\nreturn %y\n");
}

// Without a batch, a constant of shape [1, 6, 1, 1] would add a batch axis.
TEST(FuseScale, AConstantThatChangesTheShapeStays) {
  expect_case({"torch.mul(%a, %k)", {1, 6, 1, 1}, false}, nn::Conv2d(4, 6, 3),
              random_input({4, 8, 8}));
  expect_case({"torch.mul(%a, %k)", {6, 1, 1}, true}, nn::Conv2d(4, 6, 3), random_input({4, 8, 8}));
}

std::vector<std::string> parameters_of(const fx::GraphModule& module) {
  std::vector<std::string> names;
  for (const auto& item : module.named_parameters()) {
    names.push_back(item.key() + (item.value().requires_grad() ? "" : " frozen"));
  }
  return names;
}

TEST(FuseScale, AFactorBringsNoBias) {
  const auto module =
      model_of("%x = input()\n%a = self.layer(%x)\n%y = torch.mul(%a, 2)\nreturn %y",
               {{"layer", nn::Linear(4, 6, {{"bias", false}})}});
  EXPECT_EQ(run_selected(*module, {"fuse_scale"}).changes.size(), 1u);
  EXPECT_THAT(parameters_of(*module), ElementsAre("layer.weight"));
}

TEST(FuseScale, WhatIsTrainedStaysTrained) {
  for (const bool trained : {true, false}) {
    const auto module =
        model_of(text_with("torch.add(%a, %k)"), {{"layer", nn::Linear(4, 6, {{"bias", false}})}});
    at::Tensor weight = *module->find_tensor("layer.weight");
    weight.requires_grad_(!trained);
    module->add_parameter("k", at::randn({6}), fx::Grad::AsGiven);
    at::Tensor k = *module->find_tensor("k");
    k.requires_grad_(trained);
    EXPECT_EQ(run_selected(*module, {"fuse_scale"}).changes.size(), 1u);
    EXPECT_THAT(parameters_of(*module), trained ? ElementsAre("layer.weight frozen", "layer.bias")
                                                : ElementsAre("layer.weight", "layer.bias frozen"));
  }
}

// The head of a language model shares the weight of its embedding.
TEST(FuseScale, TiedWeightsStayTied) {
  const auto module = model_of(
      "%x = input()\n%e = self.embedding(%x)\n%a = self.head(%e)\n%y = torch.mul(%a, 0.5)\n"
      "return %y",
      {{"embedding", nn::Embedding(7, 4)}, {"head", nn::Linear(4, 7, {{"bias", false}})}});
  module->find_module("head")->add_parameter("weight", *module->find_tensor("embedding.weight"));
  EXPECT_TRUE(run_selected(*module, {"fuse_scale"}).changes.empty());
}

TEST(FuseScale, NumbersThatTheTypeCannotHoldAreNotMade) {
  const auto module =
      model_of("%x = input()\n%a = self.layer(%x)\n%y = torch.mul(%a, 1e37)\nreturn %y",
               {{"layer", nn::Linear(1, 1)}});
  module->set_tensor("layer.weight", at::full({1, 1}, 300.));
  EXPECT_TRUE(run_selected(*module, {"fuse_scale"}).changes.empty());
}

TEST(FuseScale, WhatOthersUseOrIsNotFiniteStays) {
  const auto module = model_of(text_with("torch.div(%a, %k)"), {{"layer", nn::Linear(4, 6)}},
                               {{"k", at::zeros({6})}});
  EXPECT_TRUE(run_selected(*module, {"fuse_scale"}).changes.empty());
  const auto shared = model_of(
      "%x = input()\n%k = self.k\n%a = self.layer(%x)\n%y = torch.mul(%a, %k)\n"
      "%z = torch.mul(%x, %k)\nreturn (%y, %z)",
      {{"layer", nn::Linear(6, 6)}});
  shared->add_parameter("k", at::randn({6}));
  EXPECT_TRUE(run_selected(*shared, {"fuse_scale"}).changes.empty());
}

}  // namespace
}  // namespace sparsebit::passes::fuse_scale_test
