#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::merge_transposes_test {
namespace {

using test::model_of;
using test::random_input;
using test::run_and_compare;
using test::simplified;

TEST(MergeTransposes, TwoAreOneOrNone) {
  EXPECT_EQ(simplified("merge_transposes", R"(
      %x = input()
      %a = torch.permute(%x, [0, 2, 1])
      %b = torch.transpose(%a, -1, -2)
      %c = torch.permute(%x, [2, 0, 1])
      %d = torch.transpose(%c, 0, 1)
      %e = torch.permute(%x, [0, 1, 2])
      return (%b, %d, %e))",
                       {}, {}, {2, 3, 4}),
            "%x = input()\n%permute = torch.permute(%x, [0, 2, 1])\nreturn (%x, %permute, %x)\n");
}

TEST(MergeTransposes, WorksWithoutShapesWhereItCan) {
  const auto module = model_of(
      "%x = input()\n%a = torch.transpose(%x, -2, -1)\n"
      "%b = torch.transpose(%a, -2, -1)\n%c = torch.neg(%b)\nreturn %c");
  EXPECT_EQ(run_and_compare(*module, {"merge_transposes"}, {random_input({2, 3})}),
            "%x = input()\n%c = torch.neg(%x)\nreturn %c\n");
}

TEST(MergeTransposes, AxesThatDoNotExistAreLeftToTheRun) {
  const auto module = model_of(
      "%x = input()\n%a = torch.permute(%x, [1, 0])\n"
      "%b = torch.permute(%a, [0, 7])\nreturn %b");
  EXPECT_TRUE(run_selected(*module, {"merge_transposes"}).changes.empty());
}

// The rank of view(sizes) is that of the sizes, not one.
TEST(MergeTransposes, AListOfSizesIsNotOneSize) {
  const auto module = model_of(
      "%x = input()\n%s = %x.size()\n%f = torch.flatten(%x)\n"
      "%v = %f.view(%s)\n%t = torch.transpose(%v, 0, -1)\nreturn %t");
  run_and_compare(*module, {"merge_transposes"}, {random_input({2, 3})});
  EXPECT_NE(module->graph().find("t"), nullptr);
}

// A linear layer with a vector as weight removes an axis, so the rank of its result is not its
// input's.
TEST(MergeTransposes, TheRankBehindALinearLayerOfOneRow) {
  const auto module = test::model_of(
      "%x = input()\n%w = self.w\n%r = torch.relu(%x)\n%l = torch.nn.functional.linear(%r, %w)\n"
      "%a = torch.transpose(%l, 1, -1)\n%b = torch.transpose(%a, 0, 1)\nreturn %b",
      {}, {{"w", at::ones({4})}});
  module->graph().find("x")->set_tensor_info(fx::TensorInfo{{2, 3, 4}, at::kFloat});
  test::run_and_compare(*module, {"merge_transposes"}, {test::random_input({2, 3, 4})});
}

}  // namespace
}  // namespace sparsebit::passes::merge_transposes_test
