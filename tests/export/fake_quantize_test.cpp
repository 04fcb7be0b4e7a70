// Quantizers as OpenVINO's FakeQuantize.

#include "sparsebit/core/error.h"
#include "sparsebit/core/yaml.h"
#include "sparsebit/export/clipped_weights.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/io/onnx_tensor.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sparsebit::exports::test::fake_quantize_test {
namespace {

using quant::QuantModel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Net : public nn::Module {
 public:
  Net() : Module("Net", "x") {
    add_module("conv", nn::Conv2d(4, 2, 1));
    add_module("up", nn::ConvTranspose2d(2, 3, 1));
  }
  nn::Value forward(const nn::Args& in) override { return call("up", call("conv", in["x"])); }
};

const at::Tensor& samples() {
  static const at::Tensor x = at::randn({2, 4, 5, 5}, at::detail::createCPUGenerator(3));
  return x;
}

quant::QConfig config_of(const std::string& weights, const std::string& activations) {
  return quant::parse_qconfig(
      parse_yaml("W: {QSCHEME: " + weights + "}\nA: {QSCHEME: " + activations + "}", "test.yaml"));
}

const char* const kWeights = "per-channel-symmetric, QUANTIZER: {BIT: 8}";
const char* const kActivation = "per-tensor-affine, QUANTIZER: {BIT: 8}";

QuantModel placed(const quant::QConfig& config) {
  Net net;
  nn::reset_parameters(net, 1);
  return QuantModel(net, config, {samples()});
}

QuantModel calibrated(const quant::QConfig& config) {
  QuantModel model = placed(config);
  model.prepare_calibration();
  model.forward({samples()});
  model.calc_qparams();
  return model;
}

onnx::ModelProto written(const QuantModel& model) {
  OnnxExportOptions options;
  options.quantized.form = QuantizedOnnxOptions::Form::FakeQuantize;
  return to_onnx(model, options);
}

struct Range {
  std::vector<at::Tensor> bounds;  // input low and high, output low and high
  int64_t levels;
};

std::map<std::string, at::Tensor> constants_of(onnx::ModelProto file) {
  std::map<std::string, at::Tensor> constants;
  io::ExternalData none;
  for (onnx::TensorProto& tensor : *file.mutable_graph()->mutable_initializer())
    constants[tensor.name()] = io::take_tensor(tensor, none);
  return constants;
}

/// The FakeQuantize nodes by quantizer.
std::map<std::string, Range> ranges_in(const onnx::ModelProto& file) {
  const std::map<std::string, at::Tensor> constants = constants_of(file);
  std::map<std::string, Range> found;
  for (const onnx::NodeProto& node : file.graph().node()) {
    if (node.op_type() != "FakeQuantize") continue;
    EXPECT_EQ(node.input_size(), 5);
    EXPECT_EQ(node.attribute(0).name(), "levels");
    Range& range = found[node.output(0)];
    range.levels = node.attribute(0).i();
    for (int i = 1; i < 5; ++i) range.bounds.push_back(constants.at(node.input(i)));
  }
  return found;
}

void expect_range(const Range& range, int64_t levels, const at::Tensor& low,
                  const at::Tensor& high) {
  EXPECT_EQ(range.levels, levels);
  for (const int i : {0, 2}) {
    EXPECT_EQ(range.bounds[i].sizes(), low.sizes());
    EXPECT_TRUE(at::equal(range.bounds[i], low)) << range.bounds[i];
    EXPECT_TRUE(at::equal(range.bounds[i + 1], high)) << range.bounds[i + 1];
  }
}

void set_scales(QuantModel& model) {
  const auto set = [&](const char* point, const at::Tensor& scale, double zero_point) {
    model.quantizer(point).set_qparams({scale, at::full_like(scale, zero_point)});
  };
  const bool affine = !model.quantizer("x_quantizer").spec().is_symmetric();
  set("x_quantizer", at::scalar_tensor(0.5), affine ? 64 : 0);
  set("conv_quantizer", at::scalar_tensor(2), 0);
  set("conv_weight_quantizer", at::tensor({0.25F, 1.F}), 0);
  set("up_weight_quantizer", at::tensor({0.5F, 1.F, 2.F}), 0);
}

at::Tensor shaped(std::vector<float> numbers, at::IntArrayRef shape) {
  return at::tensor(numbers).view(shape);
}

/// Ranges are the dequantized lowest and highest integer, per output channel for weights.
TEST(FakeQuantize, RangesAreTheEndsOfTheIntegers) {
  QuantModel model = placed(config_of(kWeights, kActivation));
  set_scales(model);
  const auto found = ranges_in(written(model));
  ASSERT_EQ(found.size(), 4u);
  expect_range(found.at("x_quantizer"), 256, at::scalar_tensor(-32), at::scalar_tensor(95.5));
  expect_range(found.at("conv_quantizer"), 256, at::scalar_tensor(0), at::scalar_tensor(510));
  expect_range(found.at("conv_weight_quantizer"), 256, shaped({-32, -128}, {2, 1, 1, 1}),
               shaped({31.75, 127}, {2, 1, 1, 1}));
  expect_range(found.at("up_weight_quantizer"), 256, shaped({-64, -128, -256}, {1, 3, 1, 1}),
               shaped({63.5, 127, 254}, {1, 3, 1, 1}));
}

/// OpenVINO does not support 7-bit weights; activations are unchanged.
TEST(FakeQuantize, WeightsOf128LevelsHave256OfTheSameStep) {
  const char* bits = "per-channel-symmetric, QUANTIZER: {BIT: 7}";
  const char* range = "per-channel-symmetric, QUANTIZER: {BIT: 8, RANGE: [-64, 63]}";
  for (const char* weights : {bits, range}) {
    QuantModel model = placed(config_of(weights, "per-tensor-symmetric, QUANTIZER: {BIT: 7}"));
    set_scales(model);
    const auto found = ranges_in(written(model));
    expect_range(found.at("conv_weight_quantizer"), 256, shaped({-32, -128}, {2, 1, 1, 1}),
                 shaped({31.75, 127}, {2, 1, 1, 1}));
    expect_range(found.at("x_quantizer"), 128, at::scalar_tensor(-32), at::scalar_tensor(31.5));
  }
  QuantModel model = placed(
      config_of("per-channel-symmetric, QUANTIZER: {BIT: 7, RESTRICTED: true}", kActivation));
  set_scales(model);
  expect_range(ranges_in(written(model)).at("conv_weight_quantizer"), 127,
               shaped({-15.75, -63}, {2, 1, 1, 1}), shaped({15.75, 63}, {2, 1, 1, 1}));
}

TEST(FakeQuantize, GroupsHaveARangeForEachInput) {
  QuantModel model =
      placed(config_of("per-channel-symmetric, QUANTIZER: {BIT: 8}, SPECIFIC: [{\"conv\": "
                       "[\"QUANTIZER.GROUP_SIZE\", 2]}]",
                       kActivation));
  set_scales(model);
  const at::Tensor scale = at::tensor({1.F, 2.F, 4.F, 8.F}).view({2, 2});
  model.quantizer("conv_weight_quantizer").set_qparams({scale, at::zeros_like(scale)});
  expect_range(ranges_in(written(model)).at("conv_weight_quantizer"), 256,
               shaped({-128, -128, -256, -256, -512, -512, -1024, -1024}, {2, 4, 1, 1}),
               shaped({127, 127, 254, 254, 508, 508, 1016, 1016}, {2, 4, 1, 1}));
}

/// FakeQuantize as documented by OpenVINO.
at::Tensor fake_quantize(const at::Tensor& x, const Range& range) {
  const at::Tensor &low = range.bounds[0], &high = range.bounds[1];
  const double steps = static_cast<double>(range.levels - 1);
  const at::Tensor inside = at::minimum(at::maximum(x, low), high);
  const at::Tensor step = at::round((inside - low) / (high - low) * steps);
  return step / steps * (range.bounds[3] - range.bounds[2]) + range.bounds[2];
}

TEST(FakeQuantize, GivesWhatTheSimulationDoes) {
  const at::NoGradGuard no_gradients;
  for (const auto& [weights, activations] :
       {std::pair{"per-channel-symmetric, QUANTIZER: {BIT: 7}", kActivation},
        {"per-channel-affine, QUANTIZER: {BIT: 4}", "per-channel-affine, QUANTIZER: {BIT: 6}"},
        {"per-tensor-symmetric, QUANTIZER: {BIT: 8, RESTRICTED: true}",
         "per-tensor-symmetric, QUANTIZER: {BIT: 8}"}}) {
    SCOPED_TRACE(weights);
    QuantModel model = calibrated(config_of(weights, activations));
    for (const quant::QuantPoint& point :
         model.points()) {  // avoids values halfway between two integers
      const auto [scale, zero_point] = point.quantizer->qparams();
      point.quantizer->set_qparams({scale * 0.97, zero_point});
    }
    const auto found = ranges_in(written(model));
    const auto clipped = with_clipped_weights(model);
    model.set_quant({.weights = true, .activations = true});
    for (const quant::QuantPoint& point : model.points()) {
      if (point.value == "conv") continue;
      const bool is_input = point.is_activation();
      const at::Tensor x = is_input ? samples() : *model.module().find_tensor(point.value);
      const at::Tensor given = is_input ? samples() : *clipped->find_tensor(point.value);
      const at::Tensor expected = (*point.quantizer)(x).tensor();
      EXPECT_TRUE(at::allclose(fake_quantize(given, found.at(point.name)), expected, 1e-5, 1e-6))
          << point.name;
    }
  }
}

TEST(FakeQuantize, IsOfTheDomainOfOpenVino) {
  const onnx::ModelProto file = written(calibrated(config_of(kWeights, kActivation)));
  ASSERT_EQ(file.opset_import_size(), 2);
  EXPECT_EQ(file.opset_import(1).domain(), "org.openvinotoolkit");
  EXPECT_EQ(file.opset_import(1).version(), 1);
  for (const onnx::NodeProto& node : file.graph().node())
    EXPECT_EQ(node.domain(), node.op_type() == "FakeQuantize" ? "org.openvinotoolkit" : "");
}

/// OpenVINO rounds biases itself, so they are exported as float.
TEST(FakeQuantize, BiasesAreNotRounded) {
  const QuantModel model =
      calibrated(quant::default_qconfig(platforms::find_platform("onnxruntime")));
  const onnx::ModelProto file = written(model);
  std::vector<std::string> biases;
  for (const onnx::NodeProto& node : file.graph().node()) {
    if (node.op_type() == "Conv") biases.push_back(node.input(2));
  }
  EXPECT_THAT(biases, ElementsAre("conv.bias"));
  EXPECT_TRUE(
      at::equal(constants_of(file).at("conv.bias"), *model.module().find_tensor("conv.bias")));
}

TEST(FakeQuantize, DorefaOfActivationsHasNoForm) {
  const QuantModel model =
      calibrated(config_of(kWeights, "per-tensor-affine, QUANTIZER: {BIT: 8, TYPE: dorefa}"));
  EXPECT_THAT([&] { written(model); },
              ThrowsMessage<Error>(
                  HasSubstr("activations quantized by dorefa cannot be exported as FakeQuantize")));
}

}  // namespace
}  // namespace sparsebit::exports::test::fake_quantize_test
