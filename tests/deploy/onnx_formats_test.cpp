// Formats that are ONNX files.

#include "deploy/deploy_case.h"
#include "deploy/formats/onnx_files.h"
#include "deploy/formats/openvino_fq.h"

#include "sparsebit/core/yaml.h"
#include "sparsebit/io/onnx_file.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::deploy::test::onnx_formats_test {
namespace {

using quant::QuantModel;

/// Numbers of a quantizer in the shape of its weight's rank.
std::vector<int64_t> expected_shape(const quant::QuantPoint& point, const QuantModel& model) {
  if (!point.quantizer->spec().is_per_channel()) return {};
  const at::Tensor& weight = *model.module().find_tensor(point.value);
  std::vector<int64_t> shape(static_cast<size_t>(weight.dim()), 1);
  const auto axis = point.quantizer->spec().channel_axis;
  shape[static_cast<size_t>(axis)] = weight.size(axis);
  return shape;
}

/// @param widened  weights have 256 levels instead of their own 128.
void expect_ranges(const QuantModel& model, bool widened) {
  const DeployModel deployed(model, "net");
  const std::vector<DeployFile> files = write_openvino_fq(deployed);
  EXPECT_EQ(files.front().name, "net_openvino.onnx");
  const auto found = read_openvino_fq(files.front().content);
  EXPECT_EQ(found.size(), model.points().size());
  for (const quant::QuantPoint& point : model.points()) {
    SCOPED_TRACE(point.name);
    const quant::QuantSpec& spec = point.quantizer->spec();
    const quant::QParams numbers = point.quantizer->final_qparams();
    int64_t low = spec.qmin(), high = spec.qmax();
    if (point.is_weight() && widened) low = 2 * low, high = 2 * high + 1;
    const OpenVinoRange& range = found.at(point.name);
    EXPECT_EQ(range.levels, high - low + 1);
    const std::vector<int64_t> shape =
        point.is_weight() ? expected_shape(point, model) : std::vector<int64_t>{};
    EXPECT_EQ(range.low.sizes().vec(), shape);
    const auto bound = [&](int64_t q) {
      return ((static_cast<double>(q) - numbers.zero_point) * numbers.scale).reshape(shape);
    };
    EXPECT_TRUE(at::equal(range.low, bound(low)));
    EXPECT_TRUE(at::equal(range.high, bound(high)));
  }
}

TEST(OpenVinoFq, RangesAreTheModels) {
  expect_ranges(calibrated_net(symmetric_config()), false);
  expect_ranges(calibrated_net(affine_config()), false);
  expect_ranges(calibrated_net(config_of("per-channel-affine", "per-tensor-affine")), false);
}

TEST(OpenVinoFq, WeightsOf128LevelsHave256OfTheSameStep) {
  const QuantModel model =
      calibrated_net(config_of("per-channel-symmetric", "per-tensor-affine", "BIT: 7"));
  expect_ranges(model, true);
  const auto found = read_openvino_fq(write_openvino_fq(DeployModel(model)).front().content);
  const OpenVinoRange& weight = found.at("stem_weight_quantizer");
  const at::Tensor step = (weight.high - weight.low) / 255;
  EXPECT_TRUE(at::allclose(step.reshape({-1}),
                           model.quantizer("stem_weight_quantizer").qparams().scale, 1e-6));
  EXPECT_EQ(found.at("x_quantizer").levels, 128);
}

TEST(OpenVinoFq, GroupsHaveARangeForEachInput) {
  const QuantModel model = calibrated_net(
      quant::parse_qconfig(parse_yaml("W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}, "
                                      "SPECIFIC: [{\"a\": [\"QUANTIZER.GROUP_SIZE\", 4]}]}\n"
                                      "A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}",
                                      "test.yaml")));
  const auto found = read_openvino_fq(write_openvino_fq(DeployModel(model)).front().content);
  const at::Tensor low = found.at("a_weight_quantizer").low;
  EXPECT_EQ(low.sizes().vec(), (std::vector<int64_t>{8, 8, 1, 1}));
  EXPECT_TRUE(at::equal(low.select(1, 0), low.select(1, 3)));
  EXPECT_FALSE(at::equal(low.select(1, 0), low.select(1, 4)));
}

TEST(OpenVinoFq, FloatOperatorsAreAllThere) {
  const QuantModel model = calibrated_net(affine_config());
  const std::string bytes = write_openvino_fq(DeployModel(model)).front().content;
  auto operators = read_onnx_numbers(bytes).operators;
  EXPECT_EQ(operators["FakeQuantize"], static_cast<int>(model.points().size()));
  EXPECT_EQ(operators["Relu"], 2);  // rounding would clip, but OpenVINO sees what the model is
  EXPECT_EQ(operators["Clip"], 1);
  const onnx::ModelProto file = io::parse_onnx(bytes, "test");
  ASSERT_EQ(file.opset_import_size(), 2);
  EXPECT_EQ(file.opset_import(1).domain(), "org.openvinotoolkit");
  for (const onnx::NodeProto& node : file.graph().node())
    EXPECT_EQ(node.domain(), node.op_type() == "FakeQuantize" ? "org.openvinotoolkit" : "");
}

TEST(OnnxFiles, CleanHasNothingQuantized) {
  const QuantModel model = calibrated_net(symmetric_config());
  const DeployFile file = write_onnx_clean(DeployModel(model, "net")).front();
  EXPECT_EQ(file.name, "net.onnx");
  const OnnxNumbers found = read_onnx_numbers(file.content);
  EXPECT_TRUE(found.quantized.empty());
  EXPECT_TRUE(found.constants.contains("up.weight"));
}

TEST(OnnxFiles, PairsHaveTheModelsScales) {
  const QuantModel model = calibrated_net(symmetric_config());
  const DeployFile file = write_onnx_qdq(DeployModel(model, "net")).front();
  EXPECT_EQ(file.name, "net_qdq.onnx");
  const OnnxNumbers found = read_onnx_numbers(file.content);
  int weights = 0;
  for (const quant::QuantPoint& point : model.points()) {
    const at::Tensor scale = point.quantizer->final_qparams().scale;
    if (point.is_weight()) {
      ++weights;
      EXPECT_TRUE(at::equal(found.constants.at(point.value + "_quantized.scale"), scale));
    } else {
      EXPECT_TRUE(at::equal(found.constants.at(point.value + "_quantizer.scale"), scale));
    }
  }
  EXPECT_EQ(weights, 5);
  EXPECT_EQ(found.quantized.size(), model.points().size() - 5);
}

TEST(OnnxFiles, PairsOf16BitsHaveTheOpsetThatHasThem) {
  const QuantModel model =
      calibrated_net(config_of("per-tensor-symmetric", "per-tensor-affine", "BIT: 16"));
  const std::string bytes = write_onnx_qdq(DeployModel(model)).front().content;
  EXPECT_EQ(io::parse_onnx(bytes, "test").opset_import(0).version(), 21);
}

TEST(OnnxFiles, OperatorsAreIntegerOnes) {
  const QuantModel model =
      calibrated_net(quant::default_qconfig(platforms::find_platform("onnxruntime")));
  const DeployFile file = write_onnx_qoperator(DeployModel(model, "net")).front();
  EXPECT_EQ(file.name, "net_qoperator.onnx");
  auto operators = read_onnx_numbers(file.content).operators;
  EXPECT_EQ(operators["QLinearConv"], 3);
  EXPECT_EQ(operators["Conv"], 0);
  EXPECT_EQ(operators["QGemm"], 1);
}

}  // namespace
}  // namespace sparsebit::deploy::test::onnx_formats_test
