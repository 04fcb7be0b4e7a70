#include "sparsebit/report/coverage.h"

#include "report/report_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::report::coverage_test {
namespace {

TEST(Coverage, CountsMacsAndNodes) {
  const quant::QuantModel model = test::calibrated_net("onnxruntime");
  const Coverage coverage = coverage_of(model);
  ASSERT_EQ(coverage.nodes.size(), 5u);  // conv, relu, tanh, flatten, fc
  EXPECT_EQ(coverage.nodes[0].macs, 4 * 4 * 4 * 3 * 3 * 3);
  EXPECT_EQ(coverage.nodes[4].macs, 4 * 4 * 4 * 5);
  EXPECT_DOUBLE_EQ(coverage.share_of_macs(), 1);
  ASSERT_EQ(coverage.floats().size(), 2u);  // flatten consumes the output of tanh
  EXPECT_EQ(coverage.floats().front()->node, "tanh");
  EXPECT_EQ(coverage.floats().front()->why_float->kind, quant::DecisionKind::NoIntegerForm);
}

/// Switching off a layer's quantizer removes its MACs from the coverage.
TEST(Coverage, FallsWithWhatIsOff) {
  const quant::QuantModel model = test::calibrated_net("onnxruntime");
  for (const quant::QuantPoint& point : model.points()) {
    if (point.value == "conv.weight") point.quantizer->switch_off("the test");
  }
  const Coverage coverage = coverage_of(model);
  const double all = 1728 + 320;
  EXPECT_DOUBLE_EQ(coverage.share_of_macs(), 320 / all);
  EXPECT_EQ(coverage.floats().front()->node, "conv");  // most MACs first
  EXPECT_EQ(coverage.floats().front()->why_float->kind, quant::DecisionKind::WeightIsFloat);
}

TEST(Coverage, OfEveryPlatform) {
  for (const char* platform :
       {"tensorrt", "tensorrt_explicit", "snpe", "openvino", "tengine_u8", "virtual"})
    EXPECT_DOUBLE_EQ(coverage_of(test::calibrated_net(platform)).share_of_macs(), 1) << platform;
}

}  // namespace
}  // namespace sparsebit::report::coverage_test
