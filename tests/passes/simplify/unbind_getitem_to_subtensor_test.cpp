#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::unbind_getitem_to_subtensor_test {
namespace {

using test::simplified;

// Axis by keyword, by default and negative, and a slice of the parts (B-13).
TEST(UnbindGetitem, EveryWayToGiveTheAxis) {
  EXPECT_EQ(simplified("unbind_getitem_to_subtensor", R"(
      %x = input()
      %a = torch.unbind(%x)
      %b = operator.getitem(%a, 1)
      %c = torch.unbind(%x, dim=2)
      %d = operator.getitem(%c, 0)
      %e = torch.unbind(%x, -1)
      %f = operator.getitem(%e, -1)
      return (%b, %d, %f))",
                       {}, {}, {2, 3, 4}),
            "%x = input()\n%getitem = operator.getitem(%x, 1)\n"
            "%getitem_1 = operator.getitem(%x, (slice(None, None, None), slice(None, None, None), "
            "0))\n"
            "%select = torch.select(%x, -1, -1)\nreturn (%getitem, %getitem_1, %select)\n");
}

TEST(UnbindGetitem, ASliceOfThePartsStaysATuple) {
  const std::string text =
      "%x = input()\n%a = torch.unbind(%x)\n%b = operator.getitem(%a, slice(1, None, None))\n"
      "return %b\n";
  EXPECT_EQ(simplified("unbind_getitem_to_subtensor", text), text);
}

}  // namespace
}  // namespace sparsebit::passes::unbind_getitem_to_subtensor_test
