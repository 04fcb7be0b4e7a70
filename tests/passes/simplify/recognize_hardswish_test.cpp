#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::recognize_hardswish_test {
namespace {

using test::simplified;
using testing::HasSubstr;

TEST(RecognizeHardswish, InAllItsForms) {
  const std::string clipped = "%x = input()\n%a = torch.add(%x, 3)\n%c = torch.clamp(%a, 0, 6)\n";
  const std::string expected =
      "%x = input()\n%hardswish = torch.nn.functional.hardswish(%x)\nreturn %hardswish\n";
  EXPECT_EQ(simplified("recognize_hardswish",
                       clipped + "%d = torch.div(%c, 6)\n%y = torch.mul(%x, %d)\nreturn %y"),
            expected);
  EXPECT_EQ(simplified("recognize_hardswish",
                       clipped + "%m = torch.mul(%x, %c)\n%y = torch.div(%m, 6)\nreturn %y"),
            expected);
  EXPECT_EQ(simplified("recognize_hardswish", clipped + "%d = torch.div(%c, 6)\nreturn %d"),
            "%x = input()\n%hardsigmoid = torch.nn.functional.hardsigmoid(%x)\n"
            "return %hardsigmoid\n");
  EXPECT_THAT(simplified("recognize_hardswish", clipped + "%d = torch.div(%c, 5)\nreturn %d"),
              HasSubstr("clamp"));
}

// The constant 3 may be a node of the graph, and the first operand.
TEST(RecognizeHardswish, TheConstantIsNotTakenForX) {
  EXPECT_EQ(simplified("recognize_hardswish", R"(
      %x = input()
      %c = self.three
      %a = torch.neg(%x)
      %s = torch.add(%a, %c)
      %r = torch.nn.functional.relu6(%s)
      %y = torch.div(%r, 6)
      return %y)",
                       {}, {{"three", at::full({}, 3.)}}),
            "%x = input()\n%a = torch.neg(%x)\n"
            "%hardsigmoid = torch.nn.functional.hardsigmoid(%a)\nreturn %hardsigmoid\n");
}

}  // namespace
}  // namespace sparsebit::passes::recognize_hardswish_test
