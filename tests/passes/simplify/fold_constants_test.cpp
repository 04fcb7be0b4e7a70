#include "passes/pass_case.h"

#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::fold_constants_test {
namespace {

using test::model_of;
using test::random_input;
using test::run_and_compare;
using test::short_text;
using test::simplified;

TEST(FoldConstants, WhatDependsOnNoInput) {
  EXPECT_EQ(simplified("fold_constants", R"(
      %x = input()
      %w = self.table
      %a = torch.mul(%w, 2)
      %b = torch.arange(4)
      %c = torch.add(%a, %b)
      %d = torch.add(%x, %c)
      return %d)",
                       {}, {{"table", at::ones({4})}}),
            "%x = input()\n%c_1 = self.c\n%d = torch.add(%x, %c_1)\nreturn %d\n");
}

TEST(FoldConstants, NumbersBecomeNumbers) {
  EXPECT_EQ(simplified("fold_constants", R"(
      %x = input()
      %n = operator.mul(2, 3)
      %m = operator.sub(%n, 2)
      %a = torch.reshape(%x, [%m, -1])
      return %a)"),
            "%x = input()\n%a = torch.reshape(%x, [4, -1])\nreturn %a\n");
}

TEST(FoldConstants, RandomNumbersAndStateStay) {
  const std::string random =
      "%x = input()\n%r = torch.rand(4)\n%a = torch.mul(%x, 0)\n"
      "%m = torch.mul(%r, 0)\n%b = torch.add(%a, %m)\nreturn %b\n";
  EXPECT_EQ(simplified("fold_constants", random), random);
  const std::string counter =
      "%x = input()\n%n = self.count\n%m = %n.add_(1)\n"
      "%a = torch.mul(%m, 0)\n%b = torch.add(%x, %a)\nreturn %b\n";
  EXPECT_EQ(simplified("fold_constants", counter, {}, {{"count", at::zeros({4})}}), counter);
}

TEST(FoldConstants, ParametersStayParametersAndSharedOnesStay) {
  const auto module = model_of(
      "%x = input()\n%w = self.w\n%t = %w.t()\n"
      "%a = torch.matmul(%x, %t)\nreturn %a");
  module->add_parameter("w", at::randn({3, 4}));
  run_and_compare(*module, {"fold_constants"}, {random_input({2, 4})});
  EXPECT_EQ(short_text(module->graph()),
            "%x = input()\n%t_1 = self.t\n%a = torch.matmul(%x, %t_1)\nreturn %a\n");
  EXPECT_TRUE(module->own_parameters().contains("t"));

  const auto tied = model_of(
      "%x = input()\n%w = self.w\n%t = %w.t()\n%a = torch.matmul(%x, %t)\n"
      "%b = torch.matmul(%a, %w)\nreturn %b");
  tied->add_parameter("w", at::randn({3, 4}));
  EXPECT_TRUE(run_selected(*tied, {"fold_constants"}).changes.empty());
}

TEST(FoldConstants, SmallExpressionsDoNotBecomeLargeTensors) {
  const std::string text =
      "%x = input()\n%z = torch.ones([1024, 1024])\n%s = torch.sum(%x)\n"
      "%a = torch.mul(%z, %s)\nreturn %a\n";
  EXPECT_EQ(simplified("fold_constants", text), text);
}

// One buffer with two readers, one of which writes to it.
TEST(FoldConstants, StateThatAnotherNodeWritesStays) {
  const std::string text =
      "%x = input()\n%n = self.count\n%m = %n.add_(1)\n%k = self.count\n"
      "%d = torch.mul(%k, 2)\n%y = torch.add(%x, %d)\nreturn (%y, %m)";
  const auto module = model_of(text, {}, {{"count", at::zeros({4})}});
  EXPECT_TRUE(run_selected(*module, {"fold_constants"}).changes.empty());
}

TEST(FoldConstants, ParametersOfCalledLayersStay) {
  const auto module = model_of(
      "%x = input()\n%h = self.fc(%x)\n%w = self.fc.weight\n%t = %w.t()\n"
      "%y = torch.matmul(%h, %t)\nreturn %y",
      {{"fc", nn::Linear(4, 4)}});
  EXPECT_TRUE(run_selected(*module, {"fold_constants"}).changes.empty());
}

// Dequantizing them would make the model larger.
TEST(FoldConstants, QuantizedWeightsStayIntegers) {
  const auto module = model_of(
      "%x = input()\n%w = self.w\n%s = self.scale\n%d = onnx.DequantizeLinear(%w, %s)\n"
      "%y = torch.matmul(%x, %d)\nreturn %y",
      {}, {{"w", at::ones({4, 4}, at::kChar)}, {"scale", at::full({}, 0.5)}});
  EXPECT_TRUE(run_selected(*module, {"fold_constants"}).changes.empty());
}

TEST(FoldConstants, SizesBeyondAllMemoryAreNotTried) {
  const auto module = model_of(
      "%x = input()\n%z = torch.ones([1000000, 1000000, 1000])\n"
      "%n = %z.size(0)\n%y = torch.add(%x, %n)\nreturn %y");
  EXPECT_TRUE(run_selected(*module, {"fold_constants"}).changes.empty());
}

}  // namespace
}  // namespace sparsebit::passes::fold_constants_test
