#include "passes/pass_case.h"

#include "sparsebit/fx/interpreter.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::remove_no_ops_test {
namespace {

using test::model_of;
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

TEST(RemoveNoOps, BranchesThatAreNeverTaken) {
  EXPECT_EQ(simplified("remove_no_ops", R"(
      %x = input()
      %c = self.on
      %a = torch.where(%c, %x, 0.0)
      %d = self.off
      %b = torch.where(%d, 0.0, %a)
      %e = torch.neg(%b)
      return %e)",
                       {}, {{"on", at::ones({}, at::kBool)}, {"off", at::zeros({}, at::kBool)}}),
            "%x = input()\n%e = torch.neg(%x)\nreturn %e\n");
  // The dead branch determines the shape.
  EXPECT_THAT(simplified("remove_no_ops",
                         "%x = input()\n%c = self.on\n%w = self.wide\n"
                         "%a = torch.where(%c, %x, %w)\nreturn %a",
                         {}, {{"on", at::ones({}, at::kBool)}, {"wide", at::ones({3, 1, 1})}}),
              testing::HasSubstr("where"));
}

// Traced files contain numbers as 0-d tensors; a trained one is not constant.
TEST(RemoveNoOps, NumbersThatAreTensors) {
  EXPECT_EQ(simplified("remove_no_ops",
                       "%x = input()\n%c = self.one\n%a = torch.mul(%x, %c)\n%b = torch.neg(%a)\n"
                       "return %b",
                       {}, {{"one", at::ones({})}}),
            "%x = input()\n%b = torch.neg(%x)\nreturn %b\n");
  const auto trained = model_of("%x = input()\n%c = self.scale\n%a = torch.mul(%x, %c)\nreturn %a");
  trained->add_parameter("scale", at::ones({}));
  fx::record_shapes(*trained, {at::ones({2})});
  EXPECT_TRUE(run_selected(*trained, {"remove_no_ops"}).changes.empty());
}

TEST(RemoveNoOps, WhatChangesATypeStays) {
  const std::string text = "%x = input()\n%i = %x.long()\n%a = torch.mul(%i, 1.0)\nreturn %a\n";
  EXPECT_EQ(simplified("remove_no_ops", text), text);
}

}  // namespace
}  // namespace sparsebit::passes::remove_no_ops_test
