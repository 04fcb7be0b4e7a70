#include "passes/pass_case.h"

#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::functions_to_layers_test {
namespace {

using test::holder_of;
using test::model_of;
using test::random_input;
using test::run_and_compare;

TEST(FunctionsToLayers, WeightsOfTheModel) {
  const auto module =
      model_of(R"(
      %x = input()
      %w = self.fc.weight
      %b = self.fc.bias
      %a = torch.nn.functional.linear(%x, %w, %b)
      %g = self.norm.weight
      %h = self.norm.bias
      %c = torch.nn.functional.layer_norm(%a, [3], %g, %h, 1e-06)
      return %c)",
               {{"fc", holder_of({{"weight", at::randn({3, 4})}, {"bias", at::randn({3})}})},
                {"norm", holder_of({{"weight", at::randn({3})}, {"bias", at::randn({3})}})}});
  const at::Tensor weight = *module->find_tensor("fc.weight");
  EXPECT_EQ(run_and_compare(*module, {"functions_to_layers"}, {random_input({2, 4})}),
            "%x = input()\n%fc = self.fc(%x)\n%norm = self.norm(%fc)\nreturn %norm\n");
  EXPECT_TRUE(module->find_tensor("fc.weight")->is_same(weight));
  EXPECT_EQ(module->find_module("norm")->type(), "torch.nn.LayerNorm");
}

TEST(FunctionsToLayers, WhatIsTrainedStaysTrainedAndWhatIsNotDoesNot) {
  const auto module = model_of(R"(
      %x = input()
      %w = self.w
      %b = self.b
      %c = self.c
      %y = torch.nn.functional.linear(%x, %w, %b)
      %z = torch.nn.functional.linear(%x, %w, %c)
      return (%y, %z))");
  module->add_parameter("w", at::randn({3, 4}), fx::Grad::AsGiven);
  module->add_parameter("b", at::randn({3}));
  module->add_buffer("c", at::randn({3}));
  run_selected(*module, {"functions_to_layers"});
  EXPECT_FALSE(module->find_tensor("y.weight")->requires_grad());
  EXPECT_TRUE(module->find_tensor("y.bias")->requires_grad());
  EXPECT_FALSE(module->find_tensor("z.bias")->requires_grad());
  EXPECT_TRUE(module->find_tensor("z.weight")->is_same(*module->find_tensor("y.weight")));
}

TEST(FunctionsToLayers, Convolutions) {
  const auto module = model_of(R"(
      %x = input()
      %w = self.w
      %a = torch.nn.functional.conv2d(%x, %w, None, 2, 1)
      %b = torch.nn.functional.conv_transpose2d(%a, %w, None, 2, 1, 1)
      return %b)");
  module->add_parameter("w", at::randn({4, 3, 3, 3}));
  EXPECT_EQ(run_and_compare(*module, {"functions_to_layers"}, {random_input({1, 3, 8, 8})}),
            "%x = input()\n%a_1 = self.a(%x)\n%b_1 = self.b(%a_1)\nreturn %b_1\n");
  EXPECT_TRUE(module->find_tensor("a.weight")->is_same(*module->find_tensor("b.weight")));
}

// Same tensors, other options: two layers.
TEST(FunctionsToLayers, CallsWithOtherOptionsAreOtherLayers) {
  const auto module = model_of(
      R"(
      %x = input()
      %w = self.conv.weight
      %b = self.conv.bias
      %p = torch.nn.functional.conv2d(%x, %w, %b, 1, 1)
      %q = torch.nn.functional.conv2d(%x, %w, %b, 1, 2, 2)
      return (%p, %q))",
      {{"conv", holder_of({{"weight", at::randn({4, 3, 3, 3})}, {"bias", at::randn({4})}})}});
  EXPECT_EQ(run_and_compare(*module, {"functions_to_layers"}, {random_input({1, 3, 8, 8})}),
            "%x = input()\n%conv = self.conv(%x)\n%q_1 = self.q(%x)\nreturn (%conv, %q_1)\n");
}

TEST(FunctionsToLayers, WhatIsNotTrainedIsNotTrainedAfterwards) {
  const auto module = model_of(
      "%x = input()\n%w = self.w\n"
      "%a = torch.nn.functional.linear(%x, %w)\nreturn %a");
  module->add_parameter("w", at::randn({3, 4}), fx::Grad::AsGiven);
  run_and_compare(*module, {"functions_to_layers"}, {random_input({2, 4})});
  EXPECT_FALSE(module->find_tensor("a.weight")->requires_grad());
}

TEST(FunctionsToLayers, OddWeightsAreLeftToTheRun) {
  for (const char* call : {"torch.nn.functional.linear(%x, %w)",
                           "torch.nn.functional.conv1d(%x, %w, None, 1, 0, 1, 0)"}) {
    const auto module =
        model_of(std::string("%x = input()\n%w = self.w\n%a = ") + call + "\nreturn %a", {},
                 {{"w", at::randn({4})}});
    EXPECT_TRUE(run_selected(*module, {"functions_to_layers"}).changes.empty()) << call;
  }
}

}  // namespace
}  // namespace sparsebit::passes::functions_to_layers_test
