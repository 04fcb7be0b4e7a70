#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::recognize_silu_test {
namespace {

using test::simplified;
using testing::HasSubstr;
using testing::Not;

TEST(RecognizeSilu, ProductWithItsSigmoid) {
  EXPECT_EQ(simplified("recognize_silu",
                       "%x = input()\n%s = torch.sigmoid(%x)\n%y = torch.mul(%s, %x)\nreturn %y"),
            "%x = input()\n%silu = torch.nn.functional.silu(%x)\nreturn %silu\n");
  EXPECT_THAT(simplified("recognize_silu",
                         "%x = input()\n%s = torch.sigmoid(%x)\n"
                         "%y = torch.mul(%s, %x)\nreturn (%y, %s)"),
              Not(HasSubstr("silu")));
}

TEST(RecognizeSilu, IntegersStay) {
  EXPECT_THAT(simplified("recognize_silu",
                         "%x = input()\n%i = %x.long()\n%s = torch.sigmoid(%i)\n"
                         "%y = torch.mul(%s, %i)\nreturn %y"),
              Not(HasSubstr("silu")));
}

// Without recorded types, types derived from upstream nodes have to be correct.
TEST(RecognizeSilu, WhatMayBeIntegersStays) {
  for (const char* number : {"torch.nn.functional.linear(%x, %w)", "operator.getitem(%p, 1)"}) {
    const std::string text = std::string(
                                 "%x = input()\n%w = self.w\n%e = torch.nn.functional.elu(%w)\n"
                                 "%p = torch.nn.functional.max_pool2d_with_indices(%e, 2)\n%a = ") +
                             number +
                             "\n%s = torch.sigmoid(%a)\n%y = torch.mul(%a, %s)\nreturn %y\n";
    const bool integers = std::string(number).find("linear") != std::string::npos;
    const at::Tensor w = integers ? at::ones({4, 4}, at::kLong) : at::ones({1, 4, 4});
    const auto module = test::model_of(text, {}, {{"w", w}});
    EXPECT_TRUE(run_selected(*module, {"recognize_silu"}).changes.empty()) << number;
  }
}

}  // namespace
}  // namespace sparsebit::passes::recognize_silu_test
