// Formats that are ONNX files.

#include "deploy/deploy_case.h"
#include "deploy/formats/onnx_files.h"
#include "deploy/formats/openvino_fq.h"

#include "sparsebit/io/onnx_file.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::deploy::test::onnx_formats_test {
namespace {

using quant::QuantModel;

/// The shape of a quantizer's ranges: per-channel ranges have the weight's rank.
std::vector<int64_t> expected_shape(const quant::QuantPoint& point, const QuantModel& model) {
  if (!point.quantizer->spec().is_per_channel()) return {};
  const at::Tensor& weight = *model.module().find_tensor(point.value);
  std::vector<int64_t> shape(static_cast<size_t>(weight.dim()), 1);
  const auto axis = point.quantizer->spec().channel_axis;
  shape[static_cast<size_t>(axis)] = weight.size(axis);
  return shape;
}

void expect_ranges(const QuantModel& model) {
  const DeployModel deployed(model, "net");
  const std::vector<DeployFile> files = write_openvino_fq(deployed);
  EXPECT_EQ(files.front().name, "net_openvino.onnx");
  const auto found = read_openvino_fq(files.front().content);
  EXPECT_EQ(found.size(), model.points().size());
  for (const quant::QuantPoint& point : model.points()) {
    SCOPED_TRACE(point.name);
    const quant::QuantSpec& spec = point.quantizer->spec();
    const quant::QParams numbers = point.quantizer->final_qparams();
    const OpenVinoRange& range = found.at(point.name);
    EXPECT_EQ(range.levels, spec.qmax() - spec.qmin() + 1);
    const std::vector<int64_t> shape =
        point.is_weight() ? expected_shape(point, model) : std::vector<int64_t>{};
    EXPECT_EQ(range.low.sizes().vec(), shape);
    const auto bound = [&](int64_t q) {
      return ((static_cast<double>(q) - numbers.zero_point) * numbers.scale).reshape(shape);
    };
    EXPECT_TRUE(at::equal(range.low, bound(spec.qmin())));
    EXPECT_TRUE(at::equal(range.high, bound(spec.qmax())));
  }
}

TEST(OpenVinoFq, RangesAreTheModels) {
  expect_ranges(calibrated_net(symmetric_config()));
  expect_ranges(calibrated_net(affine_config()));
  expect_ranges(calibrated_net(config_of("per-channel-affine", "per-tensor-affine")));
}

TEST(OpenVinoFq, FloatOperatorsAreAllThere) {
  const QuantModel model = calibrated_net(affine_config());
  const std::string bytes = write_openvino_fq(DeployModel(model)).front().content;
  auto operators = read_onnx_numbers(bytes).operators;
  EXPECT_EQ(operators["FakeQuantize"], static_cast<int>(model.points().size()));
  EXPECT_EQ(operators["Relu"], 2);  // not omitted, although rounding clips as well
  EXPECT_EQ(operators["Clip"], 1);
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
