#include "sparsebit/quant/error_profiler.h"

#include "sparsebit/core/error.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

namespace sparsebit::quant::error_profiler_test {
namespace {

QConfig config_of(int bits) {
  const std::string width = std::to_string(bits);
  return parse_qconfig(parse_yaml("W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: " + width +
                                      "}}\nA: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: " +
                                      width + "}}\nSCHEDULE: {FUSE_BN: true}\n",
                                  "q.yaml"));
}

std::unique_ptr<QuantModel> calibrated(const zoo::Example& example, int bits) {
  auto model = std::make_unique<QuantModel>(*example.model, config_of(bits), example.inputs);
  model->prepare_calibration();
  model->forward(example.inputs);
  model->calc_qparams();
  return model;
}

double error_of(const std::vector<LayerError>& errors, const std::string& layer) {
  const auto it = std::find_if(errors.begin(), errors.end(),
                               [&](const LayerError& error) { return error.layer == layer; });
  return it == errors.end() ? -1 : it->value;
}

TEST(ErrorProfiler, MeasuresOfKnownTensors) {
  const at::Tensor a = at::tensor({1., 2.}), b = at::tensor({1., 4.});
  EXPECT_DOUBLE_EQ(mean_squared_error(a, b), 2);
  EXPECT_NEAR(signal_to_noise(a, b), 10 * std::log10(17. / 4), 1e-12);
  EXPECT_NEAR(cosine(a, b), 9 / std::sqrt(5. * 17), 1e-12);
  EXPECT_TRUE(std::isinf(signal_to_noise(a, a)));
  EXPECT_EQ(cosine(at::zeros({2}), at::zeros({2})), 1);
}

TEST(ErrorProfiler, AloneAndAccumulated) {
  const zoo::Example example = zoo::make("resnet20");
  const auto model = calibrated(example, 4);
  const auto alone = quantization_error(*model, example.inputs);
  const auto all =
      quantization_error(*model, example.inputs, mean_squared_error, ErrorScope::Accumulated);
  ASSERT_EQ(alone.size(), all.size());
  EXPECT_EQ(alone.size(), 21u);  // 19 convolutions, the pooling and the classifier
  // The first layer has no quantized layers upstream.
  EXPECT_NEAR(alone.front().value, all.front().value, 1e-9);
  EXPECT_GT(error_of(all, "layer3_2_conv2"), 2 * error_of(alone, "layer3_2_conv2"));
  for (const QuantPoint& point : model->points()) EXPECT_FALSE(point.quantizer->is_enabled());
}

// Layers with only a quantized weight are reported as well.
TEST(ErrorProfiler, WeightsAlone) {
  const zoo::Example example = zoo::make("bert");
  const auto model = calibrated(example, 8);
  const auto errors = quantization_error(*model, example.inputs, signal_to_noise);
  const auto embedding = std::find_if(errors.begin(), errors.end(), [](const LayerError& error) {
    return error.layer.find("embedding") != std::string::npos;
  });
  ASSERT_NE(embedding, errors.end());
  EXPECT_GT(embedding->value, 20);
}

TEST(ErrorProfiler, FewerBitsLoseMore) {
  const zoo::Example example = zoo::make("resnet20");
  const auto at = [&](int bits) {
    const auto model = calibrated(example, bits);
    return quantization_error(*model, example.inputs, signal_to_noise, ErrorScope::Accumulated)
        .back()
        .value;
  };
  EXPECT_GT(at(8), at(6) + 5);
}

TEST(ErrorProfiler, NeedsCalibration) {
  const zoo::Example example = zoo::make("resnet20");
  QuantModel model(*example.model, config_of(8), example.inputs);
  EXPECT_THROW(quantization_error(model, example.inputs), Error);
}

/// Layers that are modules and layers that are functions.
TEST(ErrorProfiler, BothScopesHaveTheSameLayers) {
  for (const char* name : {"resnet18", "deit_tiny"}) {
    SCOPED_TRACE(name);
    const zoo::Example example = zoo::make(name);
    const auto calibrated_model = calibrated(example, 8);
    QuantModel& model = *calibrated_model;
    std::set<std::string> readers, alone, accumulated;
    for (const QuantPoint& point : model.points())
      readers.insert(point.consumers.begin(), point.consumers.end());
    for (const auto& error :
         quantization_error(model, example.inputs, mean_squared_error, ErrorScope::Alone))
      alone.insert(error.layer);
    for (const auto& error :
         quantization_error(model, example.inputs, mean_squared_error, ErrorScope::Accumulated))
      accumulated.insert(error.layer);
    EXPECT_EQ(alone, readers);
    EXPECT_EQ(accumulated, readers);
  }
}

TEST(ErrorProfiler, WithoutNoiseMeasuresAreDefined) {
  const at::Tensor nothing = at::zeros({3}), empty = at::empty({0});
  EXPECT_EQ(signal_to_noise(nothing, nothing), std::numeric_limits<double>::infinity());
  EXPECT_EQ(mean_squared_error(empty, empty), 0);
  EXPECT_EQ(cosine(nothing, nothing), 1);
}

}  // namespace
}  // namespace sparsebit::quant::error_profiler_test
