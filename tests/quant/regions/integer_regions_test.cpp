#include "sparsebit/quant/regions/integer_regions.h"

#include "quant/placement/placement_case.h"

#include "sparsebit/quant/quant_model.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::integer_regions_test {
namespace {

/// conv relu6 conv, and a branch in float.
const char* const kNet = R"(
    %x = input()
    %w = self.w
    %b = self.b
    %c = torch.conv2d(%x, %w, %b)
    %r = torch.nn.functional.relu6(%c)
    %d = torch.conv2d(%r, %w, %b)
    %t = torch.tanh(%d)
    return %t)";

QuantModel calibrated(const char* text, const std::string& platform) {
  const auto module = test::graph_of(text);
  const at::Tensor x = at::randn({1, 4, 8, 8});
  QuantModel model(*module, default_qconfig(platforms::find_platform(platform)), {x});
  model.prepare_calibration();
  model.forward({x});
  model.calc_qparams();
  return model;
}

/// About the n-th call of an operator; passes give nodes other names.
std::optional<Decision> why_float(const QuantModel& model, const std::string& op, int n = 0) {
  const IntegerRegions regions(model.module(), model.platform());
  for (const fx::Node& node : model.module().graph().nodes()) {
    const auto call = fx::resolve(node, model.module());
    if (call && call->op->name == op && n-- == 0) return regions.why_float(node, *call);
  }
  ADD_FAILURE() << "there is no such call of " << op;
  return std::nullopt;
}

TEST(IntegerRegions, ReadsWhatTheQuantizersSay) {
  const QuantModel model = calibrated(kNet, "onnxruntime");
  EXPECT_FALSE(why_float(model, "conv2d"));
  EXPECT_FALSE(why_float(model, "relu6"));  // a part of the rounding
  EXPECT_FALSE(why_float(model, "conv2d", 1));
  EXPECT_EQ(why_float(model, "tanh")->kind, DecisionKind::NoIntegerForm);
}

/// Whatever placement wanted: a quantizer that is off breaks what reads it.
TEST(IntegerRegions, NoticesWhatIsSwitchedOff) {
  const QuantModel model = calibrated(kNet, "onnxruntime");
  for (const QuantPoint& point : model.points()) {
    if (point.value == "x") point.quantizer->switch_off("the test");
  }
  ASSERT_TRUE(why_float(model, "conv2d"));
  EXPECT_EQ(why_float(model, "conv2d")->kind, DecisionKind::InputNotQuantized);
}

TEST(IntegerRegions, OtherPlatformsAskNoQuantizedResult) {
  const QuantModel model = calibrated(kNet, "tensorrt_explicit");
  EXPECT_FALSE(why_float(model, "conv2d"));
  EXPECT_FALSE(why_float(model, "conv2d", 1));
}

}  // namespace
}  // namespace sparsebit::quant::integer_regions_test
