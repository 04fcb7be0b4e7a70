#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::merge_duplicates_test {
namespace {

using test::model_of;
using test::simplified;

TEST(MergeDuplicates, EqualCallsAreOne) {
  EXPECT_EQ(simplified("merge_duplicates", R"(
      %x = input()
      %w = self.table
      %v = self.table
      %a = torch.add(%x, %w)
      %b = torch.add(%x, %v)
      %c = torch.tanh(%a)
      %d = torch.tanh(%b)
      %e = torch.mul(%c, %d)
      return %e)",
                       {}, {{"table", at::ones({4})}}),
            "%x = input()\n%w = self.table\n%a = torch.add(%x, %w)\n%c = torch.tanh(%a)\n"
            "%e = torch.mul(%c, %c)\nreturn %e\n");
}

TEST(MergeDuplicates, RandomAndWrittenValuesAreNot) {
  const auto module = model_of(
      "%x = input()\n%a = torch.rand_like(%x)\n%b = torch.rand_like(%x)\n"
      "%c = torch.sub(%a, %b)\nreturn %c");
  EXPECT_TRUE(run_selected(*module, {"merge_duplicates"}).changes.empty());
  const std::string written =
      "%x = input()\n%y = torch.abs(%x)\n%a = torch.neg(%y)\n"
      "%w = %y.add_(1)\n%b = torch.neg(%y)\n%c = torch.sub(%a, %b)\n"
      "return (%c, %w)\n";
  EXPECT_EQ(simplified("merge_duplicates", written), written);
}

}  // namespace
}  // namespace sparsebit::passes::merge_duplicates_test
