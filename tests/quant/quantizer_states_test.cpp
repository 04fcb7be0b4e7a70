#include "sparsebit/quant/quantizer_states.h"

#include "sparsebit/core/error.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::quant::quantizer_states_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Net : public nn::Module {
 public:
  Net() : Module("Net", "x") {
    add_module("a", nn::Conv2d(4, 4, 1));
    add_module("b", nn::Conv2d(4, 4, 1));
  }
  nn::Value forward(const nn::Args& in) override { return call("b", call("a", in["x"])); }
};

const at::Tensor& samples() {
  static const at::Tensor x = at::randn({2, 4, 4, 4}, at::detail::createCPUGenerator(3));
  return x;
}

QuantModel model_for(const char* platform) {
  Net net;
  nn::reset_parameters(net, 1);
  return QuantModel(net, default_qconfig(platforms::find_platform(platform)), {samples()});
}

at::Tensor result_of(QuantModel& model) {
  const at::NoGradGuard no_gradients;
  return model.forward({samples()}).tensor();
}

/// The kinds of quantizers that are enabled.
std::vector<std::string> enabled(const QuantModel& model) {
  std::vector<std::string> values;
  for (const QuantPoint& point : model.points()) {
    if (point.quantizer->is_enabled()) values.push_back(point.value);
  }
  return values;
}

TEST(QuantizerStates, OneKindIsQuantizedAndTheOtherIsOff) {
  QuantModel model = model_for("qdq");
  enable_calibration(model);
  result_of(model);
  enable_quantization(model);
  EXPECT_FALSE(model.is_calibrating());
  EXPECT_THAT(enabled(model), UnorderedElementsAre("x", "a", "a.weight", "b.weight"));
  enable_quantization(model, QuantizerKind::Weights);
  EXPECT_THAT(enabled(model), UnorderedElementsAre("a.weight", "b.weight"));
  enable_quantization(model, QuantizerKind::Activations);
  EXPECT_THAT(enabled(model), UnorderedElementsAre("x", "a"));
}

/// The other kind gets no scales, and keeps its scales if it has some.
TEST(QuantizerStates, OneKindIsCalibrated) {
  QuantModel model = model_for("qdq");
  enable_calibration(model, QuantizerKind::Weights);  // needs no data
  enable_quantization(model, QuantizerKind::Weights);
  EXPECT_THROW(enable_quantization(model), Error);
  const at::Tensor before = model.quantizer("a_weight_quantizer").qparams().scale.clone();
  {
    const at::NoGradGuard no_gradients;
    at::Tensor(*model.module().find_tensor("a.weight")).mul_(2);
  }
  enable_calibration(model, QuantizerKind::Activations);
  result_of(model);
  enable_quantization(model);
  EXPECT_EQ(enabled(model).size(), model.points().size());
  EXPECT_TRUE(at::equal(model.quantizer("a_weight_quantizer").qparams().scale, before));
}

TEST(QuantizerStates, NothingIsQuantizedWhileObserversLookOn) {
  QuantModel model = model_for("qdq");
  const at::Tensor expected = result_of(model);
  enable_calibration(model, QuantizerKind::Weights);
  enable_quantization(model, QuantizerKind::Weights);
  EXPECT_FALSE(at::equal(result_of(model), expected));
  enable_calibration(model, QuantizerKind::Activations);
  EXPECT_TRUE(model.is_calibrating());
  EXPECT_THAT(enabled(model), IsEmpty());
  EXPECT_TRUE(at::allclose(result_of(model), expected, 1e-5, 1e-5));
}

TEST(QuantizerStates, DisablingForgetsWhatCalibrationSaw) {
  QuantModel model = model_for("qdq");
  const at::Tensor expected = result_of(model);
  enable_calibration(model);
  result_of(model);
  disable_all(model);
  EXPECT_FALSE(model.is_calibrating());
  EXPECT_FALSE(model.quantizer("x_quantizer").is_calibrated());
  EXPECT_THROW(enable_quantization(model), Error);
  enable_calibration(model);
  result_of(model);
  enable_quantization(model);
  disable_all(model);
  EXPECT_THAT(enabled(model), IsEmpty());
  EXPECT_TRUE(at::equal(result_of(model), expected));
}

/// Without activations the int32 biases have no scale yet; they stay off.
TEST(QuantizerStates, WeightsAloneOnARuntimeWithIntegerBiases) {
  QuantModel model = model_for("onnxruntime");
  enable_calibration(model, QuantizerKind::Weights);
  enable_quantization(model, QuantizerKind::Weights);
  EXPECT_THAT(enabled(model), ElementsAre("a.weight", "b.weight"));
  EXPECT_NO_THROW(result_of(model));
}

}  // namespace
}  // namespace sparsebit::quant::quantizer_states_test
