#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::getattr_to_shape_test {
namespace {

using test::simplified;

TEST(GetattrToShape, OneSizeAndAllSizes) {
  EXPECT_EQ(simplified("getattr_to_shape", R"(
      %x = input()
      %s = getattr(%x, 'shape')
      %n = operator.getitem(%s, -1)
      %r = operator.getitem(%s, slice(0, 1, None))
      %a = torch.reshape(%x, [%n, -1])
      %b = operator.add(%a, 1)
      return (%b, %r))"),
            "%x = input()\n%size_1 = %x.size()\n%size = %x.size(-1)\n"
            "%r = operator.getitem(%size_1, slice(0, 1, None))\n"
            "%a = torch.reshape(%x, [%size, -1])\n%b = operator.add(%a, 1)\nreturn (%b, %r)\n");
}

}  // namespace
}  // namespace sparsebit::passes::getattr_to_shape_test
