#include "passes/pass_case.h"

#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::merge_pads_test {
namespace {

using test::model_of;
using test::Modules;
using test::random_input;
using test::run_and_compare;
using test::simplified;

TEST(MergePads, IntoTheConvolution) {
  const auto module = model_of(
      "%x = input()\n%a = torch.nn.functional.pad(%x, [1, 1, 2, 2])\n%b = self.conv(%a)\nreturn %b",
      {{"conv", nn::Conv2d(3, 4, 3, {{"padding", fx::List({0, 1})}})}});
  EXPECT_EQ(run_and_compare(*module, {"merge_pads"}, {random_input({1, 3, 6, 6})}),
            "%x = input()\n%b = self.conv(%x)\nreturn %b\n");
  EXPECT_EQ(module->find_attribute("conv.padding")->ints(), (std::vector<int64_t>{2, 2}));
}

TEST(MergePads, OtherPaddingStays) {
  const Modules conv = {{"conv", nn::Conv2d(3, 4, 3)}};
  for (const char* pad : {"[1, 0, 1, 1]", "[1, 1, 1, 1], value=1.0", "[1, 1, 1, 1], mode='reflect'",
                          "[-1, -1, -1, -1]", "[0, 0, 0, 0, 1, 1]"}) {
    const std::string text = std::string("%x = input()\n%a = torch.nn.functional.pad(%x, ") + pad +
                             ")\n%b = self.conv(%a)\nreturn %b";
    const auto module = model_of(text, conv);
    EXPECT_TRUE(run_selected(*module, {"merge_pads"}).changes.empty()) << pad;
  }
}

TEST(MergePads, TwoAreOne) {
  EXPECT_EQ(simplified("merge_pads", R"(
      %x = input()
      %a = torch.nn.functional.pad(%x, [1, 2])
      %b = torch.nn.functional.pad(%a, [0, 1, 3, 0])
      return %b)"),
            "%x = input()\n%pad = torch.nn.functional.pad(%x, [1, 3, 3, 0])\nreturn %pad\n");
}

TEST(MergePads, ModulesWithOneNumberForAllSides) {
  const auto module =
      model_of("%x = input()\n%a = self.pad(%x)\n%b = self.conv(%a)\nreturn %b",
               {{"pad", nn::layer("torch.nn.ZeroPad2d", {1}, {})}, {"conv", nn::Conv2d(3, 4, 3)}});
  EXPECT_EQ(run_and_compare(*module, {"merge_pads"}, {random_input({1, 3, 6, 6})}),
            "%x = input()\n%b = self.conv(%x)\nreturn %b\n");
}

}  // namespace
}  // namespace sparsebit::passes::merge_pads_test
