#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::merge_reshapes_test {
namespace {

using test::simplified;

TEST(MergeReshapes, TheLastIsEnough) {
  EXPECT_EQ(simplified("merge_reshapes", R"(
      %x = input()
      %a = torch.reshape(%x, [8, 3])
      %b = torch.flatten(%a)
      %c = %b.view(2, -1)
      %u = torch.unsqueeze(%c, 1)
      %s = torch.squeeze(%u, 1)
      return %s)",
                       {}, {}, {2, 3, 4}),
            "%x = input()\n%reshape_1 = torch.reshape(%x, [2, -1])\nreturn %reshape_1\n");
}

TEST(MergeReshapes, AListOfSizesStaysAsItIs) {
  const std::string text =
      "%x = input()\n%s = %x.size()\n%f = torch.flatten(%x)\n"
      "%v = %f.view(%s)\nreturn %v\n";
  EXPECT_EQ(simplified("merge_reshapes", text), text);
}

// One rule creates nodes that the next rule of the same sweep matches.
TEST(MergeReshapes, RulesGetAlongWithEachOther) {
  EXPECT_EQ(simplified("merge_reshapes", R"(
      %x = input()
      %u = torch.unsqueeze(%x, 1)
      %f = torch.flatten(%u)
      %r = torch.reshape(%f, [2, -1])
      %q = torch.squeeze(%r, 0)
      return %q)"),
            "%x = input()\n%reshape_1 = torch.reshape(%x, [2, -1])\n"
            "%q = torch.squeeze(%reshape_1, 0)\nreturn %q\n");
}

}  // namespace
}  // namespace sparsebit::passes::merge_reshapes_test
