#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::passes::recognize_gelu_test {
namespace {

using test::simplified;
using testing::HasSubstr;

TEST(RecognizeGelu, WhereverTheHalfStands) {
  const std::string bracket = R"(
      %x = input()
      %d = torch.div(%x, 1.4142135381698608)
      %e = torch.erf(%d)
      %s = torch.add(%e, 1.0)
      )";
  for (const char* rest : {"%m = torch.mul(%x, %s)\n%y = torch.mul(%m, 0.5)\nreturn %y",
                           "%m = torch.mul(0.5, %x)\n%y = torch.mul(%m, %s)\nreturn %y",
                           "%m = torch.div(%s, 2)\n%y = torch.mul(%x, %m)\nreturn %y"}) {
    EXPECT_EQ(simplified("recognize_gelu", bracket + rest),
              "%x = input()\n%gelu = torch.nn.functional.gelu(%x)\nreturn %gelu\n");
  }
  EXPECT_THAT(simplified("recognize_gelu",
                         bracket + "%m = torch.mul(%x, %s)\n%y = torch.mul(%m, 0.4)\nreturn %y"),
              HasSubstr("erf"));
}

TEST(RecognizeGelu, TheFormWithTanh) {
  EXPECT_EQ(simplified("recognize_gelu", R"(
      %x = input()
      %h = torch.mul(%x, 0.5)
      %c = torch.pow(%x, 3.0)
      %m = torch.mul(%c, 0.044715)
      %s = torch.add(%x, %m)
      %f = torch.mul(%s, 0.7978845608028654)
      %t = torch.tanh(%f)
      %b = torch.add(%t, 1.0)
      %y = torch.mul(%h, %b)
      return %y)"),
            "%x = input()\n%gelu = torch.nn.functional.gelu(%x, approximate='tanh')\n"
            "return %gelu\n");
}

// A constant of higher rank than x gives a result of that rank.
TEST(RecognizeGelu, TensorsAreNoNumbers) {
  EXPECT_THAT(simplified("recognize_gelu", R"(
      %x = input()
      %c = self.root
      %d = torch.div(%x, %c)
      %e = torch.erf(%d)
      %s = torch.add(%e, 1.0)
      %m = torch.mul(%x, %s)
      %y = torch.mul(%m, 0.5)
      return %y)",
                         {}, {{"root", at::full({1, 1, 1}, std::sqrt(2.0))}}),
              HasSubstr("erf"));
}

}  // namespace
}  // namespace sparsebit::passes::recognize_gelu_test
