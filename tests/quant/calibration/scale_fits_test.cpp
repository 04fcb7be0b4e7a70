#include "quant/calibration/scale_fits.h"

#include "sparsebit/core/error.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/quant/quant_model.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::scale_fits_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// Two layers; the second is called twice.
class Net : public nn::Module {
 public:
  Net() : Module("Net", "x") {
    add_module("a", nn::Conv2d(2, 2, 1));
    add_module("b", nn::Conv2d(2, 2, 1));
  }
  nn::Value forward(const nn::Args& in) override {
    return call("b", call("b", call("a", in["x"])));
  }
};

at::Tensor scales(std::vector<float> numbers) { return at::tensor(numbers); }

void set_scale(QuantModel& model, const std::string& point, const at::Tensor& scale) {
  model.quantizer(point).set_qparams({scale, at::zeros_like(scale)});
}

QuantModel placed_model(
    const platforms::PlatformPtr& platform = platforms::find_platform("onnxruntime")) {
  Net net;
  nn::reset_parameters(net, 1);
  return QuantModel(net, default_qconfig(platform), {at::randn({1, 2, 4, 4})});
}

/// The model with scales, as after calibration.
QuantModel scaled_model() {
  QuantModel model = placed_model();
  set_scale(model, "x_quantizer", at::scalar_tensor(0.5));
  set_scale(model, "a_quantizer", at::scalar_tensor(0.25));
  set_scale(model, "b_quantizer", at::scalar_tensor(2));
  set_scale(model, "a_weight_quantizer", scales({0.125, 4}));
  set_scale(model, "b_weight_quantizer", scales({1, 8}));
  return model;
}

void set_biases(QuantModel& model) {
  set_bias_scales(model.module(), model.points(), model.platform());
}

/// The quantizer of a layer's bias.
const Quantizer& bias_of(const QuantModel& model, const std::string& layer) {
  for (const QuantPoint& point : model.points()) {
    if (point.is_bias() && point.consumers.front() == layer) return *point.quantizer;
  }
  throw Error(ErrorKind::InvalidArgument, "no bias of '" + layer + "'");
}

TEST(ScaleFits, BiasesHaveTheScaleOfInputTimesWeight) {
  QuantModel model = scaled_model();
  set_biases(model);
  const std::vector<std::pair<const char*, at::Tensor>> expected = {
      {"a", scales({0.0625, 2})}, {"b", scales({0.25, 2})}, {"b_1", scales({2, 16})}};
  for (const auto& [layer, scale] : expected) {
    EXPECT_TRUE(at::equal(bias_of(model, layer).qparams().scale, scale)) << layer;
    EXPECT_TRUE(at::equal(bias_of(model, layer).qparams().zero_point, at::zeros({2}))) << layer;
  }
}

TEST(ScaleFits, ABiasOfALayerThatReadsFloatsIsSwitchedOff) {
  for (const char* off : {"a_quantizer", "b_weight_quantizer"}) {
    SCOPED_TRACE(off);
    QuantModel model = scaled_model();
    model.quantizer(off).switch_off("the test");
    set_biases(model);
    EXPECT_EQ(bias_of(model, "b").why_off(), (Decision{DecisionKind::LayerIsFloat, "b.bias", "b"}));
    EXPECT_FALSE(bias_of(model, "a").is_off_for_good());
    EXPECT_TRUE(bias_of(model, "a").is_calibrated());
  }
}

/// Before input and weight are calibrated, a bias has no scale but is not switched off.
TEST(ScaleFits, BiasesWaitForBothScales) {
  QuantModel model = placed_model();
  set_scale(model, "a_weight_quantizer", scales({0.125, 4}));
  set_biases(model);
  EXPECT_FALSE(bias_of(model, "a").is_calibrated());
  EXPECT_FALSE(bias_of(model, "a").is_off_for_good());
  set_scale(model, "x_quantizer", at::scalar_tensor(0.5));
  set_biases(model);
  EXPECT_TRUE(bias_of(model, "a").is_calibrated());
  EXPECT_FALSE(bias_of(model, "b").is_calibrated());
}

platforms::PlatformPtr platform_with(const std::string& fit) {
  return platforms::parse_platform("name: mine\nbased_on: onnxruntime\nscale_fit: " + fit,
                                   "mine.yaml");
}

/// Checked in the constructor, before calibration.
TEST(ScaleFits, AnUnknownFitIsAnErrorAtOnce) {
  EXPECT_THAT([] { placed_model(platform_with("onnxruntme")); },
              ThrowsMessage<Error>(
                  HasSubstr("unknown scale fit 'onnxruntme'; did you mean 'onnxruntime'")));
}

/// A fit runs after calibration, and bias scales follow the fitted scales.
TEST(ScaleFits, BiasesFollowTheFitOfThePlatform) {
  if (!scale_fits().find("scale_fits_test"))
    scale_fits().add(
        "scale_fits_test", [](fx::GraphModule&, const std::vector<QuantPoint>& points) {
          for (const QuantPoint& point : points) {
            if (point.is_bias()) continue;
            EXPECT_TRUE(point.quantizer->is_calibrated()) << point.name;
            const QParams found = point.quantizer->final_qparams();
            point.quantizer->set_qparams({at::full_like(found.scale, 0.5), found.zero_point});
          }
        });
  QuantModel model = placed_model(platform_with("scale_fits_test"));
  model.prepare_calibration();
  model.forward({at::randn({1, 2, 4, 4})});
  model.calc_qparams();
  EXPECT_TRUE(at::equal(bias_of(model, "a").qparams().scale, scales({0.25, 0.25})));
}

}  // namespace
}  // namespace sparsebit::quant::scale_fits_test
