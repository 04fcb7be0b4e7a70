#include "quant/placement/placement_case.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::placement_builder_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const char* const kConv = R"(
    %x = input()
    %w = self.w
    %c = torch.conv2d(%x, %w)
    return %c)";

QConfig config_of(const std::string& more) {
  return parse_qconfig(parse_yaml(R"(
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)" + more,
                                  "q.yaml"));
}

TEST(PlacementBuilder, PatternsThatMatchNothingAreNoted) {
  const auto module = test::graph_of(kConv);
  const Placement placement = place(*module, config_of("SKIP_TRACE_MODULES: [\"head.*\"]\n"));
  EXPECT_THAT(placement.unused_patterns,
              ElementsAre("SKIP_TRACE_MODULES: 'head.*' matches no module"));
}

TEST(PlacementBuilder, GroupsThatDoNotFitAreListedAtOnce) {
  const auto module = test::graph_of(kConv);
  const QConfig config = parse_qconfig(parse_yaml(R"(
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8, GROUP_SIZE: 3}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)",
                                                  "q.yaml"));
  EXPECT_THAT(
      [&] { place(*module, config); },
      ThrowsMessage<Error>(HasSubstr("GROUP_SIZE does not divide the inputs of layer 'c'")));
}

/// Shell patterns for names, as in --exclude.
TEST(PlacementBuilder, LayersAreExcludedByPattern) {
  EXPECT_FALSE(test::placed(kConv, "qdq").about("c"));
  const auto found = test::placed(kConv, "qdq", {.excluded_layers = {"[bc]"}});
  ASSERT_TRUE(found.about("c"));
  EXPECT_EQ(found.about("c")->kind, DecisionKind::ExcludedByUser);
  const auto module = test::graph_of(kConv);
  QConfig config = config_of("");
  config.selection.excluded_layers = {"c*", "head.*"};
  EXPECT_THAT(place(*module, config).unused_patterns, ElementsAre("'head.*' matches no layer"));
}

/// Any spelling names an operator.
TEST(PlacementBuilder, OperatorsAreNamedByAnySpelling) {
  for (const char* name : {"conv2d", "torch.conv2d", "torch.nn.Conv2d"}) {
    const auto found = test::placed(kConv, "qdq", {.excluded_operators = {name}});
    ASSERT_TRUE(found.about("c")) << name;
    EXPECT_EQ(found.about("c")->kind, DecisionKind::ExcludedByUser);
  }
}

}  // namespace
}  // namespace sparsebit::quant::placement_builder_test
