#include "passes/pass_case.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::remove_no_ops_test {
namespace {

using test::simplified;

TEST(RemoveNoOps, ArithmeticThatChangesNothing) {
  EXPECT_EQ(simplified("remove_no_ops", R"(
      %x = input()
      %a = torch.mul(%x, 1)
      %b = torch.add(0, %a)
      %c = torch.cat([%b])
      %d = torch.nn.functional.pad(%c, [0, 0])
      %e = torch.neg(%d)
      return %e)"),
            "%x = input()\n%e = torch.neg(%x)\nreturn %e\n");
}

TEST(RemoveNoOps, WhatChangesATypeStays) {
  const std::string text = "%x = input()\n%i = %x.long()\n%a = torch.mul(%i, 1.0)\nreturn %a\n";
  EXPECT_EQ(simplified("remove_no_ops", text), text);
}

}  // namespace
}  // namespace sparsebit::passes::remove_no_ops_test
