#include "sparsebit/quant/regions/node_parts.h"

#include "quant/placement/placement_case.h"

#include <gtest/gtest.h>

namespace sparsebit::quant::node_parts_test {
namespace {

TEST(NodeParts, PartsOfTuples) {
  const auto module = test::graph_of(R"(
    %x = input()
    %s = torch.split(%x, 2, 1)
    %a = operator.getitem(%s, 0)
    %b = operator.getitem(%s, 1)
    %c = torch.cat([%a, %b], 1)
    return %c)");
  fx::Node& split = *module->graph().find("s");
  const fx::Node& part = *module->graph().find("a");
  EXPECT_EQ(part_of(part), &split);
  EXPECT_EQ(&source_of(part), &split);
  EXPECT_EQ(results_of(split).size(), 2u);
  EXPECT_EQ(nodes_in(module->graph().find("c")->args()[0]).size(), 2u);
}

}  // namespace
}  // namespace sparsebit::quant::node_parts_test
