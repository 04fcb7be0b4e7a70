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

}  // namespace
}  // namespace sparsebit::passes::recognize_silu_test
