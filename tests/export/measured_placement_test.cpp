#include "sparsebit/export/measured_placement.h"

#include "sparsebit/core/error.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::exports::test::measured_placement_test {
namespace {

using testing::ThrowsMessage;

/// The three candidates, with times that say which is which.
MeasuredPlacement measured(bool float_where_faster) {
  return {
      .placements = {{.name = "float where faster", .float_where_faster = true, .milliseconds = 1},
                     {.name = "int8 everywhere", .milliseconds = 2},
                     {.name = "float", .has_integers = false, .milliseconds = 3}},
      .float_where_faster = float_where_faster};
}

TEST(MeasuredPlacement, ChosenIsTheSettingsPlacement) {
  EXPECT_EQ(measured(true).chosen().milliseconds, 1);
  EXPECT_EQ(measured(false).chosen().milliseconds, 2);
  EXPECT_EQ(measured(true).of_float().milliseconds, 3);
}

/// sparsebit quantize --measure, in tests/cli/model_kinds_test.cpp, measures.
TEST(MeasuredPlacement, NeedsAPlatformInOnnxRuntime) {
  const auto layer = nn::Linear(4, 3);
  const std::vector<fx::Value> example = {at::ones({2, 4})};
  const auto measure_on = [&](const char* platform) {
    measure_placements(*layer, quant::default_qconfig(platforms::find_platform(platform)), example);
  };
  EXPECT_THAT([&] { measure_on("tensorrt"); },
              ThrowsMessage<Error>("measuring which layers run in int8 needs a platform that runs "
                                   "in ONNX Runtime; tensorrt does not"));
}

}  // namespace
}  // namespace sparsebit::exports::test::measured_placement_test
