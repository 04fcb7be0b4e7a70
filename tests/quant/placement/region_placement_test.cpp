#include "quant/placement/placement_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::region_placement_test {
namespace {

using test::kConv;
using test::placed;
using testing::ElementsAre;
using testing::IsEmpty;

/// Items of tuples, slices and concatenations copy integers and share one scale.
TEST(RegionPlacement, SplitsSlicesAndConcatenationsAreIntegers) {
  const auto found = placed(kConv + R"(
    %parts = torch.split(%c, [2, 2], 1)
    %p = operator.getitem(%parts, 0)
    %s = operator.getitem(%c, (slice(None, None, None), slice(0, 2, None)))
    %cat = torch.cat([%p, %s], 1)
    %d = torch.conv2d(%cat, %w, %b)
    return %d)",
                            "onnxruntime");
  EXPECT_THAT(found.floats, IsEmpty());
  EXPECT_THAT(found.points, ElementsAre("c > parts", "c > s", "cat > d", "d > output", "p > cat",
                                        "s > cat", "x > c"));
}

/// ONNX-only operators use the rules of the equivalent torch operators, for any argument names.
TEST(RegionPlacement, OperatorsOfOnnxHaveTheRowsOfTheirLikes) {
  const auto found = placed(kConv + R"(
    %r = onnx.Resize(%c, None, [1.0, 1.0, 2.0, 2.0], None, mode='nearest')
    %d = torch.conv2d(%r, %w, %b)
    %f = onnx.Reshape(%d, [1, 4, -1])
    return %f)",
                            "onnxruntime");
  EXPECT_THAT(found.points, testing::IsSupersetOf({"c > r", "r > d", "d > f"}));
  EXPECT_FALSE(found.about("r"));
  ASSERT_TRUE(found.about("f"));
  EXPECT_EQ(found.about("f")->kind, DecisionKind::NoIntegerReader);
}

TEST(RegionPlacement, SaysWhatKeepsANodeInFloat) {
  const auto found = placed(kConv + R"(
    %t = torch.tanh(%c)
    %p = torch.nn.functional.max_pool2d(%t, 2)
    %i = torch.nn.functional.interpolate(%c, scale_factor=2.0, mode='bicubic')
    %a = torch.add(%c, %c, alpha=2)
    %w2 = torch.mul(%w, 2)
    %e = torch.conv2d(%c, %w2, %b)
    return (%p, %i, %a, %e))",
                            "onnxruntime");
  const auto kind_of = [&](const char* node) { return found.about(node)->kind; };
  EXPECT_EQ(kind_of("t"), DecisionKind::NoIntegerForm);
  EXPECT_EQ(kind_of("p"), DecisionKind::InputIsFloat);
  EXPECT_EQ(found.about("p")->other, "t");
  EXPECT_EQ(kind_of("i"), DecisionKind::ArgumentNotSupported);
  EXPECT_EQ(found.about("i")->other, "mode");
  EXPECT_EQ(kind_of("a"), DecisionKind::ArgumentNotSupported);
  EXPECT_EQ(kind_of("e"), DecisionKind::WeightComputed);
}

TEST(RegionPlacement, WhatTheUserExcludesStaysFloat) {
  const auto found = placed(kConv + "    return %c", "onnxruntime", {.excluded_nodes = {"c"}});
  EXPECT_THAT(found.points, IsEmpty());
  EXPECT_EQ(found.about("c")->kind, DecisionKind::ExcludedByUser);
}

}  // namespace
}  // namespace sparsebit::quant::region_placement_test
