#include "sparsebit/report/node_names.h"

#include "sparsebit/fx/parser.h"

#include <gtest/gtest.h>

namespace sparsebit::report::node_names_test {
namespace {

using quant::Decision;
using quant::DecisionKind;

TEST(NodeNames, AreThoseOfTheFile) {
  const auto graph =
      fx::parse_graph("%x = input()\n%conv = torch.relu(%x)\n%y = torch.neg(%conv)\nreturn %y");
  graph->find("conv")->set_source_name("Conv_5");
  const NodeNames names(*graph);
  EXPECT_EQ(names.shown("conv"), "Conv_5");
  EXPECT_EQ(names.shown("y"), "y");
  EXPECT_EQ(names.shown("nothing"), "nothing");
  EXPECT_EQ(names.shown(Decision{DecisionKind::InputIsFloat, "y", "conv"}),
            (Decision{DecisionKind::InputIsFloat, "y", "Conv_5"}));
  // `other` is an operator here, not a node, so it is not replaced.
  EXPECT_EQ(names.shown(Decision{DecisionKind::NoIntegerForm, "conv", "conv"}),
            (Decision{DecisionKind::NoIntegerForm, "Conv_5", "conv"}));
}

}  // namespace
}  // namespace sparsebit::report::node_names_test
