#include "quant/placement/placement_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::operator_placement_test {
namespace {

using test::kConv;
using test::placed;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

/// `readers: all`: consumers that need no quantization read the quantized value as well.
TEST(OperatorPlacement, ReadersOfATensorSeeItsQuantizer) {
  const std::string text = kConv + R"(
    %d = torch.conv2d(%c, %w, %b)
    %t = torch.tanh(%c)
    return (%d, %t))";
  EXPECT_THAT(placed(text, "qdq").points, ElementsAre("c > d", "c > t", "x > c"));
  EXPECT_THAT(placed(text, "tensorrt_explicit").points, ElementsAre("c > d", "x > c"));
}

/// The product is float for its other consumers, and the fused addition reads it in float.
TEST(OperatorPlacement, AMultiplyAddIsOneStep) {
  const auto found = placed(kConv + R"(
    %m = torch.mul(%c, %x)
    %a = torch.add(%m, %x)
    return %a)",
                            "qdq");
  EXPECT_THAT(found.points, Not(Contains("m > a")));
  EXPECT_EQ(found.about("a")->kind, DecisionKind::FusedWith);
  EXPECT_EQ(found.about("a")->other, "m");
}

TEST(OperatorPlacement, ResidualSumsLeaveTheBranchOfTheLayerInFloat) {
  const auto found = placed(kConv + R"(
    %a = torch.add(%c, %x)
    %s = torch.add(%x, %x)
    %t = torch.add(%a, %s)
    return %t)",
                            "tensorrt_explicit");
  EXPECT_THAT(found.points, ElementsAre("x > a", "x > c"));
  EXPECT_EQ(found.about("s")->kind, DecisionKind::OneActivation);
  EXPECT_EQ(found.about("t")->kind, DecisionKind::NoLayerBranch);
}

TEST(OperatorPlacement, ResultsEndBehindTheActivation) {
  const auto found = placed(kConv + R"(
    %r = torch.relu(%c)
    %f = torch.flatten(%r, 1)
    return %f)",
                            "snpe");
  EXPECT_THAT(found.points, ElementsAre("f > output", "x > c"));
}

TEST(OperatorPlacement, OperatorsOfOnnxDoNotCrash) {
  const std::string text = kConv + R"(
    %r = onnx.Resize(%c, None, [1.0, 1.0, 2.0, 2.0], None, mode='nearest')
    %f = onnx.Reshape(%r, [1, 4, -1])
    return %f)";
  for (const std::string& platform : platforms::platforms().names())
    EXPECT_NO_THROW(placed(text, platform)) << platform;
  EXPECT_THAT(placed(text, "qdq").points, Contains("c > r"));
}

TEST(OperatorPlacement, LayersWithComputedWeightsStayFloat) {
  const auto found = placed(R"(
    %x = input()
    %w = self.w
    %w2 = torch.mul(%w, 2)
    %c = torch.conv2d(%x, %w2)
    return %c)",
                            "academic");
  EXPECT_THAT(found.points, IsEmpty());
  EXPECT_EQ(found.about("c")->kind, DecisionKind::WeightComputed);
}

}  // namespace
}  // namespace sparsebit::quant::operator_placement_test
