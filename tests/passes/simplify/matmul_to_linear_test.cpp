#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::matmul_to_linear_test {
namespace {

using test::model_of;
using test::simplified;
using test::Tensors;

TEST(MatmulToLinear, ProductWithAndWithoutBias) {
  const Tensors constants = {{"w", at::randn({4, 3})}, {"b", at::randn({3})}};
  EXPECT_EQ(simplified("matmul_to_linear", R"(
      %x = input()
      %w = self.w
      %b = self.b
      %m = torch.matmul(%x, %w)
      %s = torch.add(%b, %m)
      return %s)",
                       {}, constants),
            "%x = input()\n%m_1 = self.m(%x)\nreturn %m_1\n");
  EXPECT_EQ(simplified("matmul_to_linear",
                       "%x = input()\n%w = self.w\n%b = self.b\n%m = torch.matmul(%x, %w)\n"
                       "%s = torch.add(%m, %b, alpha=2)\nreturn %s",
                       {}, constants),
            "%x = input()\n%b = self.b\n%m_1 = self.m(%x)\n%s = torch.add(%m_1, %b, alpha=2)\n"
            "return %s\n");
  EXPECT_EQ(simplified("matmul_to_linear",
                       "%x = input()\n%w = self.w\n%b = self.b\n%s = torch.addmm(%b, %x, %w)\n"
                       "return %s",
                       {}, constants),
            "%x = input()\n%s_1 = self.s(%x)\nreturn %s_1\n");
}

TEST(MatmulToLinear, TellsEachChangeOnce) {
  const auto module = model_of(
      "%x = input()\n%w = self.w\n%b = self.b\n%m = torch.matmul(%x, %w)\n"
      "%s = torch.add(%m, %b)\nreturn %s",
      {}, {{"w", at::randn({4, 3})}, {"b", at::randn({3})}});
  const PassReport report = run_selected(*module, {"matmul_to_linear"});
  ASSERT_EQ(report.changes.size(), 1u);
  EXPECT_THAT(report.changes[0].before, testing::ElementsAre("m", "s"));
  EXPECT_THAT(report.changes[0].after, testing::ElementsAre("m_1"));
}

// The weight is a transposed copy; the bias is the tensor itself, which stays shared.
TEST(MatmulToLinear, ABiasStaysSharedAndAsTrainedAsItWas) {
  const auto module = model_of(
      "%x = input()\n%w = self.w\n%b = self.b\n%m = torch.matmul(%x, %w)\n"
      "%s = torch.add(%m, %b)\n%t = torch.mul(%s, %b)\nreturn %t");
  module->add_parameter("w", at::randn({4, 3}), fx::Grad::AsGiven);
  module->add_parameter("b", at::randn({3}));
  const at::Tensor bias = *module->find_tensor("b");
  run_selected(*module, {"matmul_to_linear"});
  EXPECT_TRUE(module->find_tensor("m.bias")->is_same(bias));
  EXPECT_TRUE(bias.requires_grad());
  EXPECT_FALSE(module->find_tensor("m.weight")->requires_grad());
}

TEST(MatmulToLinear, ComputedMatricesStay) {
  const std::string text = "%x = input()\n%t = %x.t()\n%m = torch.matmul(%x, %t)\nreturn %m\n";
  EXPECT_EQ(simplified("matmul_to_linear", text), text);
}

TEST(MatmulToLinear, SharedParametersStayShared) {
  const auto module = model_of(
      "%x = input()\n%w = self.w\n%a = torch.matmul(%x, %w)\n"
      "%b = torch.matmul(%a, %w)\nreturn %b");
  module->add_parameter("w", at::randn({4, 4}));
  EXPECT_TRUE(run_selected(*module, {"matmul_to_linear"}).changes.empty());
}

TEST(MatmulToLinear, AMatrixThatIsWrittenIsNoWeight) {
  const auto module = model_of(
      "%x = input()\n%w = self.w\n%u = %w.add_(1)\n"
      "%m = torch.matmul(%x, %w)\nreturn (%m, %u)",
      {}, {{"w", at::randn({4, 4})}});
  EXPECT_TRUE(run_selected(*module, {"matmul_to_linear"}).changes.empty());
}

}  // namespace
}  // namespace sparsebit::passes::matmul_to_linear_test
