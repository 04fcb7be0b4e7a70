#include "quant/placement/faster_as_float.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::faster_as_float_test {
namespace {

using platforms::KernelCost;
using testing::ElementsAre;

/// Three nodes in a chain, 100 elements each.
class FasterAsFloat : public testing::Test {
 protected:
  FasterAsFloat()
      : module_(fx::parse_graph("%x = input()\n%a = torch.neg(%x)\n%b = torch.abs(%a)\n"
                                "%c = torch.neg(%b)\nreturn %c"),
                "Case") {
    fx::record_shapes(module_, {at::ones({10, 10})});
    costs_.quantize = 1;
    costs_.dequantize = 1;
  }

  /// Adds a node with times in nanoseconds per element.
  void add(const std::string& node, double as_integer, double as_float,
           double before_quantize = 0) {
    const auto time = [](double per_element) {
      return static_cast<int64_t>(per_element * 100 * 1000);
    };
    fx::Node* const made = module_.graph().find(node);
    options_.push_back({.node = made,
                        .operands = {made->inputs().front()},
                        .time = {time(as_integer), time(as_float), time(before_quantize)}});
  }

  std::vector<bool> solve() { return fastest_as_integers(options_, KernelTimes(module_, costs_)); }

  fx::GraphModule module_;
  platforms::KernelCosts costs_;
  std::vector<IntegerOption> options_;
};

TEST_F(FasterAsFloat, ASlowKernelIsWorthTwoConversions) {
  add("a", 1, 9);
  add("b", 5, 2);  // saves 3, and the conversions cost 2
  add("c", 1, 9);
  EXPECT_THAT(solve(), ElementsAre(true, false, true));
  EXPECT_EQ(time_as_floats(options_), (9 + 2 + 9) * 100 * 1000);
}

TEST_F(FasterAsFloat, NotIfTheConversionsTakeLonger) {
  add("a", 1, 9);
  add("b", 3, 2);
  add("c", 1, 9);
  EXPECT_THAT(solve(), ElementsAre(true, true, true));
}

TEST_F(FasterAsFloat, NotForALittle) {
  add("a", 30, 90);
  add("b", 5, 2);  // saves 1 of 67
  add("c", 30, 90);
  EXPECT_THAT(solve(), ElementsAre(true, true, true));
}

TEST_F(FasterAsFloat, NotIfItIsSlowInFrontOfAQuantizer) {
  add("a", 1, 9);
  add("b", 5, 2, 4);
  add("c", 1, 9);
  EXPECT_THAT(solve(), ElementsAre(true, true, true));
}

TEST_F(FasterAsFloat, AnIslandThatSavesNothingGoes) {
  add("a", 5, 3);
  add("b", 1, 2);
  add("c", 5, 3);
  EXPECT_THAT(solve(), ElementsAre(false, false, false));
}

TEST_F(FasterAsFloat, TimesAreByMacsAndElements) {
  fx::GraphModule module(fx::parse_graph("%x = input()\n%w = self.w\n%y = torch.conv2d(%x, %w)\n"
                                         "%z = torch.conv2d(%y, %w, groups=4)\nreturn %z"),
                         "Case");
  module.add_parameter("w", at::ones({4, 1, 3, 3}));
  fx::record_shapes(module, {at::ones({1, 1, 6, 6})});
  costs_.kernels["conv"] = {.as_float = {2, 1}, .as_integer = {1, 3}};
  costs_.kernels["conv_depthwise"] = {
      .as_float = {1, 0}, .as_integer = {0, 1}, .before_quantize = 2};
  const KernelTimes times(module, costs_);
  const auto time_of = [&](const char* name) {
    const fx::Node& node = *module.graph().find(name);
    return times.of(node, *fx::resolve(node, module));
  };
  const int64_t macs = 4 * 16 * 9, elements = 4 * 16;
  EXPECT_EQ(time_of("y").as_float, 1000 * (2 * macs + elements));
  EXPECT_EQ(time_of("y").as_integer, 1000 * (macs + 3 * elements));
  EXPECT_EQ(time_of("z").as_float, 1000 * (4 * 4 * 9));
  EXPECT_EQ(time_of("z").as_integer, 1000 * elements);  // of the input, which is larger
  EXPECT_EQ(time_of("z").before_quantize, 2000 * elements);
  EXPECT_EQ(times.to_quantize(*module.graph().find("y")), 1000 * elements);
}

}  // namespace
}  // namespace sparsebit::quant::faster_as_float_test
