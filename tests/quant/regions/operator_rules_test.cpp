#include "sparsebit/quant/regions/operator_rules.h"

#include "quant/placement/placement_case.h"

#include <gtest/gtest.h>

namespace sparsebit::quant::operator_rules_test {
namespace {

TEST(OperatorRules, ConditionsOnArguments) {
  const auto module = test::graph_of(R"(
    %x = input()
    %a = torch.nn.functional.adaptive_avg_pool2d(%x, 1)
    %b = torch.nn.functional.adaptive_avg_pool2d(%x, (1, 2))
    %s = operator.getitem(%x, (slice(None, None, None), slice(0, 2, None)))
    %i = operator.getitem(%x, 0)
    return (%a, %b, %s, %i))");
  const auto platform = platforms::find_platform("onnxruntime");
  const auto fits = [&](const char* name) {
    const fx::Node& node = *module->graph().find(name);
    return !float_by_rule(*platform, node, *fx::resolve(node, *module));
  };
  EXPECT_TRUE(fits("a"));
  EXPECT_FALSE(fits("b"));
  EXPECT_TRUE(fits("s"));
  EXPECT_FALSE(fits("i"));
}

}  // namespace
}  // namespace sparsebit::quant::operator_rules_test
