#include "sparsebit/quant/placement/placement.h"

#include "quant/placement/placement_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::placement_test {
namespace {

using testing::ElementsAre;

/// The platform's policy selects the placement.
TEST(Placement, FollowsThePolicyOfThePlatform) {
  const char* const text = R"(
    %x = input()
    %w = self.w
    %b = self.b
    %c = torch.conv2d(%x, %w, %b)
    %t = torch.tanh(%c)
    return %t)";
  const test::Placed regions = test::placed(text, "onnxruntime");
  EXPECT_THAT(regions.points, ElementsAre("c > t", "x > c"));
  EXPECT_THAT(regions.weights, ElementsAre("c.bias", "c.weight"));
  const test::Placed inputs = test::placed(text, "qdq");
  EXPECT_THAT(inputs.points, ElementsAre("x > c"));
  EXPECT_THAT(inputs.weights, ElementsAre("c.weight"));
}

}  // namespace
}  // namespace sparsebit::quant::placement_test
