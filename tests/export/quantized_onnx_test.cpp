#include "sparsebit/export/quantized_onnx.h"

#include "core/temp_dir.h"
#include "export/export_case.h"
#include "export/integer_operators.h"
#include "support/ort.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/yaml.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/io/onnx_tensor.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

namespace sparsebit::exports::test::quantized_onnx_test {
namespace {

using quant::QuantModel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A residual block, pooling, and a classifier.
class Net : public nn::Module {
 public:
  Net() : Module("Net", "x") {
    add_module("stem", nn::Conv2d(3, 8, 3));
    add_module("relu", nn::ReLU());
    add_module("a", nn::Conv2d(8, 8, 1));
    add_module("pool", nn::MaxPool2d(2));
    add_module("b", nn::Conv2d(8, 4, 1));
    add_module("fc", nn::Linear(12, 5));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value x = call("relu", call("stem", in["x"]));
    const nn::Value sum = call("relu", call("a", x) + x);
    const nn::Value pooled = call("pool", sum);
    const nn::Value both = nn::cat({call("b", pooled), pooled}, 1);
    return call("fc", nn::flatten(nn::adaptive_avg_pool2d(both, 1), 1));
  }
};

quant::QConfig config_for(const std::string& platform) {
  return quant::default_qconfig(platforms::find_platform(platform));
}

const at::Tensor& samples() {
  static const at::Tensor x = at::randn({4, 3, 10, 10}, at::detail::createCPUGenerator(3));
  return x;
}

QuantModel calibrated(nn::Module& network, const quant::QConfig& config) {
  QuantModel model(network, config, {samples()});
  model.prepare_calibration();
  model.forward({samples()});
  model.calc_qparams();
  model.set_quant({.weights = true, .activations = true});
  return model;
}

QuantModel calibrated_net(const quant::QConfig& config) {
  at::manual_seed(1);
  Net net;
  return calibrated(net, config);
}

at::Tensor simulated(QuantModel& model) {
  const at::NoGradGuard no_gradients;
  return model.forward({samples()}).tensor();
}

/// Expects the same results from the model, the imported file and unoptimized ONNX Runtime.
void expect_same(QuantModel& model, const onnx::ModelProto& file, double tolerance) {
  const at::Tensor expected = simulated(model);
  const auto again = frontends::import_onnx(onnx::ModelProto(file));
  again->eval();
  const Tensors here = run_reference(*again, {samples()});
  EXPECT_LE((here.front() - expected).abs().max().item<double>(), tolerance);
  const sparsebit::test::TempDir dir;
  OrtQueue queue(dir.path());
  queue.add("quantized", file, {samples()}, {expected}, tolerance);
  EXPECT_EQ(queue.run(), 1u);
}

TEST(QuantizedOnnx, IntegersOnAllSidesForOnnxRuntime) {
  const QuantModel model = calibrated_net(config_for("onnxruntime"));
  // Q/DQ pairs are around each node; relus are omitted, since QuantizeLinear clips at the same
  // bounds.
  EXPECT_EQ(
      outline(to_onnx(model)),
      R"(x_quantizer/QuantizeLinear_output = QuantizeLinear(x, x_quantizer.scale, x_quantizer.zero_point)
x_quantizer = DequantizeLinear(x_quantizer/QuantizeLinear_output, x_quantizer.scale, x_quantizer.zero_point)
stem_weight_quantizer = DequantizeLinear(stem.weight_quantized, stem.weight_quantized.scale, stem.weight_quantized.zero_point)
stem_bias_quantizer = DequantizeLinear(stem.bias_quantized, stem.bias_quantized.scale)
stem = Conv(x_quantizer, stem_weight_quantizer, stem_bias_quantizer)
relu_quantizer/QuantizeLinear_output = QuantizeLinear(stem, relu_quantizer.scale, relu_quantizer.zero_point)
relu_quantizer = DequantizeLinear(relu_quantizer/QuantizeLinear_output, relu_quantizer.scale, relu_quantizer.zero_point)
a_weight_quantizer = DequantizeLinear(a.weight_quantized, a.weight_quantized.scale, a.weight_quantized.zero_point)
a_bias_quantizer = DequantizeLinear(a.bias_quantized, a.bias_quantized.scale)
a = Conv(relu_quantizer, a_weight_quantizer, a_bias_quantizer)
a_quantizer/QuantizeLinear_output = QuantizeLinear(a, a_quantizer.scale, a_quantizer.zero_point)
a_quantizer = DequantizeLinear(a_quantizer/QuantizeLinear_output, a_quantizer.scale, a_quantizer.zero_point)
add = Add(a_quantizer, relu_quantizer)
relu_1_quantizer/QuantizeLinear_output = QuantizeLinear(add, relu_1_quantizer.scale, relu_1_quantizer.zero_point)
relu_1_quantizer = DequantizeLinear(relu_1_quantizer/QuantizeLinear_output, relu_1_quantizer.scale, relu_1_quantizer.zero_point)
pool = MaxPool(relu_1_quantizer)
pool_quantizer/QuantizeLinear_output = QuantizeLinear(pool, relu_1_quantizer.scale, relu_1_quantizer.zero_point)
pool_quantizer = DequantizeLinear(pool_quantizer/QuantizeLinear_output, relu_1_quantizer.scale, relu_1_quantizer.zero_point)
b_weight_quantizer = DequantizeLinear(b.weight_quantized, b.weight_quantized.scale, b.weight_quantized.zero_point)
b_bias_quantizer = DequantizeLinear(b.bias_quantized, b.bias_quantized.scale)
b = Conv(pool_quantizer, b_weight_quantizer, b_bias_quantizer)
b_quantizer/QuantizeLinear_output = QuantizeLinear(b, b_quantizer.scale, b_quantizer.zero_point)
b_quantizer = DequantizeLinear(b_quantizer/QuantizeLinear_output, b_quantizer.scale, b_quantizer.zero_point)
cat = Concat(b_quantizer, pool_quantizer)
cat_quantizer/QuantizeLinear_output = QuantizeLinear(cat, cat_quantizer.scale, cat_quantizer.zero_point)
cat_quantizer = DequantizeLinear(cat_quantizer/QuantizeLinear_output, cat_quantizer.scale, cat_quantizer.zero_point)
adaptive_avg_pool2d = GlobalAveragePool(cat_quantizer)
adaptive_avg_pool2d_quantizer/QuantizeLinear_output = QuantizeLinear(adaptive_avg_pool2d, adaptive_avg_pool2d_quantizer.scale, adaptive_avg_pool2d_quantizer.zero_point)
adaptive_avg_pool2d_quantizer = DequantizeLinear(adaptive_avg_pool2d_quantizer/QuantizeLinear_output, adaptive_avg_pool2d_quantizer.scale, adaptive_avg_pool2d_quantizer.zero_point)
flatten = Flatten(adaptive_avg_pool2d_quantizer)
flatten_quantizer/QuantizeLinear_output = QuantizeLinear(flatten, adaptive_avg_pool2d_quantizer.scale, adaptive_avg_pool2d_quantizer.zero_point)
flatten_quantizer = DequantizeLinear(flatten_quantizer/QuantizeLinear_output, adaptive_avg_pool2d_quantizer.scale, adaptive_avg_pool2d_quantizer.zero_point)
fc_weight_quantizer = DequantizeLinear(fc.weight_quantized, fc.weight_quantized.scale, fc.weight_quantized.zero_point)
fc_bias_quantizer = DequantizeLinear(fc.bias_quantized, fc.bias_quantized.scale)
fc = Gemm(flatten_quantizer, fc_weight_quantizer, fc_bias_quantizer)
)");
}

TEST(QuantizedOnnx, EveryPlatformGivesTheSameNumbers) {
  for (const char* platform : {"onnxruntime", "tensorrt", "tensorrt_explicit", "virtual", "snpe"}) {
    SCOPED_TRACE(platform);
    QuantModel model = calibrated_net(config_for(platform));
    expect_same(model, to_onnx(model), platform == std::string("onnxruntime") ? 1e-6 : 1e-4);
  }
}

quant::QConfig virtual_config(const std::string& weight, const std::string& activations) {
  return quant::parse_qconfig(parse_yaml(
      "SCHEDULE: {FUSE_BN: true}\nW: " + weight + "\nA: " + activations + "\n", "test.yaml"));
}

TEST(QuantizedOnnx, EveryQuantizerAndWidthGivesTheSameNumbers) {
  const std::string activations = "{QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}";
  const auto of_weights = [](const std::string& more) {
    return "{QSCHEME: per-channel-symmetric, QUANTIZER: {" + more + "}}";
  };
  const auto of_activations = [](const std::string& more, const std::string& scheme = "affine") {
    return "{QSCHEME: per-tensor-" + scheme + ", QUANTIZER: {" + more + "}}";
  };
  struct Settings {
    std::string weight, activations;
    int64_t opset = 13;
  };
  const std::vector<Settings> all = {
      {of_weights("BIT: 4"), of_activations("BIT: 4")},
      {of_weights("BIT: 4"), of_activations("BIT: 4"), 21},
      {of_weights("BIT: 3"), of_activations("BIT: 2", "symmetric"), 21},
      {of_weights("BIT: 12"), of_activations("BIT: 16"), 21},
      {of_weights("BIT: 16"), of_activations("BIT: 10", "symmetric"), 21},
      {of_weights("BIT: 8, RESTRICTED: true"),
       of_activations("BIT: 8, RESTRICTED: true", "symmetric")},
      {"{QSCHEME: per-channel-affine, QUANTIZER: {BIT: 8}}",
       "{QSCHEME: per-channel-affine, QUANTIZER: {BIT: 6}}"},
      {"{QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}", activations, 11},
      {of_weights("BIT: 8, TYPE: dorefa"), of_activations("BIT: 8, TYPE: dorefa")},
      {of_weights("BIT: 8, TYPE: lsq"), of_activations("BIT: 4, TYPE: lsq", "symmetric")},
      {of_weights("BIT: 8, TYPE: lsq+"), of_activations("BIT: 8, TYPE: lsq+")},
      {of_weights("BIT: 8, TYPE: adaround"), of_activations("BIT: 8, TYPE: pact")},
      {of_weights("BIT: 4, TYPE: gptq"), of_activations("BIT: 8"), 21},
      {of_weights("BIT: 8, RANGE: [-64, 63]"),
       of_activations("BIT: 8, RANGE: [0, 255]", "symmetric")},
      {of_weights("BIT: 8, POT_SCALE: true"), of_activations("BIT: 8, RANGE: [-128, 127]")},
      {of_weights("BIT: 8, TYPE: dsq"), of_activations("BIT: 8, RANGE: [-100, 27], TYPE: dsq")},
      {"{QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8, TYPE: tqt}}",
       of_activations("BIT: 8, POT_SCALE: true", "symmetric")}};
  for (const auto& [weight, activations, opset] : all) {
    SCOPED_TRACE(weight + " " + activations + " at opset " + std::to_string(opset));
    QuantModel model = calibrated_net(virtual_config(weight, activations));
    expect_same(model, to_onnx(model, {.opset = opset}), 1e-5);
  }
}

/// Where biases are int32 and where they are float.
TEST(QuantizedOnnx, BiasesHaveTheirCorrections) {
  for (const char* platform : {"onnxruntime", "virtual", "tensorrt"}) {
    SCOPED_TRACE(platform);
    quant::QConfig config = config_for(platform);
    QuantModel plain = calibrated_net(config);
    config.schedule.bias_correction = true;
    QuantModel model = calibrated_net(config);
    EXPECT_FALSE(at::equal(simulated(model), simulated(plain)));
    expect_same(model, to_onnx(model), platform == std::string("onnxruntime") ? 1e-6 : 1e-4);
  }
}

TEST(QuantizedOnnx, GroupsOfWeights) {
  for (const int64_t opset : {13, 21}) {
    SCOPED_TRACE(opset);
    quant::QConfig config = virtual_config(
        "{QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 4, GROUP_SIZE: 4}, "
        "SPECIFIC: [{\"stem\": [\"QUANTIZER.GROUP_SIZE\", 3]}]}",
        "{QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}");
    QuantModel model = calibrated_net(config);
    expect_same(model, to_onnx(model, {.opset = opset}), 1e-5);
  }
}

TEST(QuantizedOnnx, TheModelStaysAsItIs) {
  QuantModel model = calibrated_net(config_for("onnxruntime"));
  model.set_quant({});
  const at::Tensor before = simulated(model);
  const std::string text = fx::to_text(model.module().graph());
  to_onnx(model);
  EXPECT_TRUE(at::equal(simulated(model), before));
  EXPECT_EQ(fx::to_text(model.module().graph()), text);
  EXPECT_EQ(to_onnx(model).SerializeAsString(), to_onnx(model).SerializeAsString());
}

TEST(QuantizedOnnx, BitsAreSaid) {
  const QuantModel model =
      calibrated_net(virtual_config("{QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 4}}",
                                    "{QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 6}}"));
  const onnx::ModelProto plain = to_onnx(model);
  const onnx::ModelProto extra = to_onnx(model, {.quantized = {.bits_attribute = true}});
  ASSERT_EQ(plain.graph().node_size(), extra.graph().node_size());
  const auto bits_of = [](const onnx::NodeProto& node) -> int64_t {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() == "bits") return attribute.i();
    }
    return 0;
  };
  int pairs = 0;
  for (int i = 0; i < plain.graph().node_size(); ++i) {
    const onnx::NodeProto &node = plain.graph().node(i), &told = extra.graph().node(i);
    EXPECT_EQ(bits_of(node), 0);
    if (!node.op_type().ends_with("quantizeLinear") && node.op_type() != "QuantizeLinear") continue;
    ++pairs;
    const int64_t bits = node.name().find("weight") == std::string::npos ? 6 : 4;
    EXPECT_EQ(bits_of(told), bits) << node.name();
    EXPECT_THAT(node.doc_string(), testing::StartsWith("bits=" + std::to_string(bits)));
  }
  EXPECT_GT(pairs, 8);
  EXPECT_THAT(plain.metadata_props(1).value(), HasSubstr("\"stem.weight\":4"));
}

// --- numbers against the float model ----------------------------------------------------------

/// A model of three convolutions, combined by a function.
class Convolutions : public nn::Module {
 public:
  using Forward = std::function<nn::Value(Convolutions&, const nn::Value&)>;
  explicit Convolutions(Forward forward)
      : Module("Convolutions", "x"), forward_(std::move(forward)) {
    at::manual_seed(2);
    for (const char* name : {"a", "b"}) add_module(name, nn::Conv2d(3, 3, 3, {{"padding", 1}}));
    add_module("c", nn::Conv2d(6, 4, 1));
  }
  nn::Value forward(const nn::Args& in) override { return forward_(*this, in["x"]); }
  nn::Value conv(const char* name, const nn::Value& x) { return call(name, x); }

 private:
  Forward forward_;
};

/// SNR in dB of a quantized model, which must agree with its file and ONNX Runtime.
double signal_to_noise_of(Convolutions& network) {
  QuantModel model = calibrated(network, config_for("onnxruntime"));
  const at::Tensor found = simulated(model);
  expect_same(model, to_onnx(model), 1e-6);
  model.set_quant({});
  const at::Tensor expected = simulated(model);
  return 10 *
         std::log10((expected.square().sum() / (found - expected).square().sum()).item<double>());
}

TEST(QuantizedOnnx, WhatIsCutAtZeroDoesNotCutItsNeighbours) {
  Convolutions network([](Convolutions& net, const nn::Value& x) {
    return net.conv("c", nn::cat({nn::relu(net.conv("a", x)), net.conv("b", x)}, 1));
  });
  EXPECT_GT(signal_to_noise_of(network), 30);
}

/// ONNX Runtime has an integer kernel for sigmoid, but none for silu.
TEST(QuantizedOnnx, SiluIsTwoStepsWithIntegers) {
  Convolutions network([](Convolutions& net, const nn::Value& x) {
    return net.conv("b", nn::call_function("torch.nn.functional.silu", {net.conv("a", x)}));
  });
  QuantModel model = calibrated(network, config_for("onnxruntime"));
  const sparsebit::test::TempDir dir;
  export_onnx(model, dir / "m.onnx", {.opset = 17});
  OnnxRuntime().load(dir / "m.onnx", {.optimized = dir / "run.onnx"});
  std::set<std::string> kernels;
  const onnx::ModelProto run = io::load_onnx(dir / "run.onnx");
  for (const onnx::NodeProto& node : run.graph().node()) kernels.insert(node.op_type());
  for (const char* kernel : {"QLinearConv", "QLinearSigmoid", "QLinearMul"})
    EXPECT_TRUE(kernels.contains(kernel)) << kernel;
  EXPECT_FALSE(kernels.contains("Sigmoid"));
  EXPECT_GT(signal_to_noise_of(network), 30);
}

TEST(QuantizedOnnx, BoundsWithoutZero) {
  Convolutions network([](Convolutions& net, const nn::Value& x) {
    const nn::Value cut = nn::call_function("torch.clamp", {net.conv("a", x), 0.3, 3.0});
    return net.conv("b", cut);
  });
  EXPECT_GT(signal_to_noise_of(network), 30);
}

TEST(QuantizedOnnx, BiasesOfChannelsThatAreAlmostOff) {
  Convolutions network([](Convolutions& net, const nn::Value& x) { return net.conv("a", x); });
  const at::NoGradGuard no_gradients;
  at::Tensor(*network.find_tensor("a.weight")).mul_(1e-9);
  at::Tensor(*network.find_tensor("a.bias")).fill_(-150);
  EXPECT_GT(signal_to_noise_of(network), 30);
}

TEST(QuantizedOnnx, ALayerThatIsCalledTwiceHasABiasForEachInput) {
  Convolutions network([](Convolutions& net, const nn::Value& x) {
    const nn::Value once = net.conv("a", x);
    return nn::cat({net.conv("a", once * 9.0), once}, 1);
  });
  const QuantModel model = calibrated(network, config_for("onnxruntime"));
  int biases = 0;
  for (const quant::QuantPoint& point : model.points()) biases += point.is_bias() ? 1 : 0;
  EXPECT_EQ(biases, 2);
  EXPECT_GT(signal_to_noise_of(network), 30);
}

/// QLinearConv's bias has the scale input scale * weight scale, also after training changed these.
TEST(QuantizedOnnx, BiasesFollowScalesThatChanged) {
  QuantModel model = calibrated_net(config_for("onnxruntime"));
  quant::Quantizer& input = model.quantizer("x_quantizer");
  const quant::QParams before = input.qparams();
  input.set_qparams({before.scale * 2, before.zero_point});
  std::map<std::string, at::Tensor> scales;
  onnx::ModelProto file = to_onnx(model);
  for (onnx::TensorProto& tensor : *file.mutable_graph()->mutable_initializer()) {
    io::ExternalData none;
    if (tensor.name().ends_with(".scale")) scales[tensor.name()] = io::take_tensor(tensor, none);
  }
  EXPECT_TRUE(at::equal(scales.at("stem.bias_quantized.scale"),
                        scales.at("x_quantizer.scale") * scales.at("stem.weight_quantized.scale")));
  expect_same(model, to_onnx(model), 1e-6);  // and so does the simulation
}

/// ONNX Runtime fuses Q/DQ pairs to the same kernels as the exported integer operators.
TEST(QuantizedOnnx, IntegerOperatorsComputeWhatFusedPairsDo) {
  const QuantModel model = calibrated_net(config_for("onnxruntime"));
  const sparsebit::test::TempDir dir;
  export_onnx(model, dir / "pairs.onnx", {.opset = 17});
  export_onnx(model, dir / "operators.onnx",
              {.opset = 17, .quantized = {.form = QuantizedOnnxOptions::Form::Operators}});
  std::vector<std::string> types;
  const onnx::ModelProto operators = io::load_onnx(dir / "operators.onnx");
  for (const onnx::NodeProto& node : operators.graph().node()) types.push_back(node.op_type());
  EXPECT_THAT(types, ElementsAre("QuantizeLinear", "QLinearConv", "QLinearConv", "QLinearAdd",
                                 "MaxPool", "QLinearConv", "QLinearConcat",
                                 "QLinearGlobalAveragePool", "Flatten", "QGemm"));
  const auto results = sparsebit::test::run_onnxruntime(
      {{.model = dir / "pairs.onnx", .inputs = {{"x", samples()}}, .optimize = "all"},
       {.model = dir / "operators.onnx", .inputs = {{"x", samples()}}}});
  for (const auto& result : results) ASSERT_EQ(result.error, "");
  EXPECT_TRUE(at::equal(results[0].outputs[0], results[1].outputs[0]));
}

/// Values that only a subgraph reads are kept.
TEST(QuantizedOnnx, IntegerOperatorsKeepWhatGraphsInsideRead) {
  const QuantModel model = calibrated_net(config_for("onnxruntime"));
  onnx::ModelProto file = to_onnx(model);
  onnx::NodeProto& choice = *file.mutable_graph()->add_node();
  choice.set_op_type("If");
  choice.add_input("condition");
  choice.add_output("chosen");
  onnx::AttributeProto& branch = *choice.add_attribute();
  branch.set_name("then_branch");
  onnx::NodeProto& inside = *branch.mutable_g()->add_node();
  inside.set_op_type("Identity");
  inside.add_input("a_quantizer");
  inside.add_output("inside");
  use_integer_operators(*file.mutable_graph(), model);
  std::set<std::string> made;
  for (const onnx::NodeProto& node : file.graph().node()) made.insert(node.output(0));
  EXPECT_TRUE(made.contains("a_quantizer"));
  EXPECT_FALSE(made.contains("x_quantizer"));
}

TEST(QuantizedOnnx, IntegersOfOtherWidthsKeepTheirPairs) {
  const QuantModel model =
      calibrated_net(virtual_config("{QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 4}}",
                                    "{QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}"));
  const OnnxExportOptions pairs{.opset = 21};
  OnnxExportOptions operators = pairs;
  operators.quantized.form = QuantizedOnnxOptions::Form::Operators;
  EXPECT_EQ(outline(to_onnx(model, operators)), outline(to_onnx(model, pairs)));
}

TEST(QuantizedOnnx, WithoutScalesThereIsNoFile) {
  Net net;
  const QuantModel model(net, config_for("onnxruntime"), {samples()});
  EXPECT_THAT([&] { to_onnx(model); },
              ThrowsMessage<Error>(HasSubstr("not calibrated, so it cannot be exported, at "
                                             "'x_quantizer', the quantizer of 'x'")));
}

TEST(QuantizedOnnx, LogarithmsHaveNoPairs) {
  const std::string nnie = "{QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8, TYPE: nnie}}";
  const QuantModel model = calibrated_net(virtual_config(nnie, nnie));
  EXPECT_THAT(
      [&] { to_onnx(model); },
      ThrowsMessage<Error>("quantizer type nnie has non-uniform steps; QuantizeLinear "
                           "supports uniform steps only, at 'x_quantizer', the quantizer of 'x'"));
}

/// The file has the simulated power-of-two scales. Activations at exact negative halves are rounded
/// to even by QuantizeLinear, but toward zero by a DPU: a difference of one step, for example for a
/// mean of few numbers.
TEST(QuantizedOnnx, PowersOfTwoOfADpu) {
  const std::string tqt = "{QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8, TYPE: tqt}}";
  QuantModel model = calibrated_net(virtual_config(tqt, tqt));
  const onnx::ModelProto file = to_onnx(model);
  expect_same(model, file, 0.01);
  int scales = 0;
  for (const onnx::TensorProto& tensor : file.graph().initializer()) {
    if (!tensor.name().ends_with(".scale")) continue;
    float scale = 0;
    std::memcpy(&scale, tensor.raw_data().data(), sizeof(scale));
    EXPECT_EQ(scale, std::exp2(std::round(std::log2(scale)))) << tensor.name();
    ++scales;
  }
  EXPECT_GE(scales, 8);
}

/// A Clip is needed only if the integer type's range is wider than the quantizer's.
TEST(QuantizedOnnx, RangesThatAreTypesNeedNoBounds) {
  const std::string weight = "{QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}";
  const auto has_bounds = [&](const std::string& activations) {
    const QuantModel model = calibrated_net(virtual_config(weight, activations));
    return outline(to_onnx(model)).find("= Min(") != std::string::npos;
  };
  const std::string symmetric = "{QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8, RANGE: ";
  EXPECT_FALSE(has_bounds(symmetric + "[0, 255]}}"));
  EXPECT_FALSE(has_bounds(symmetric + "[-128, 127]}}"));
  EXPECT_TRUE(has_bounds(symmetric + "[0, 127]}}"));
  EXPECT_TRUE(has_bounds(symmetric + "[-64, 63]}}"));
}

TEST(QuantizedOnnx, OldOpsetsHaveNoScalesPerChannel) {
  const QuantModel model = calibrated_net(config_for("onnxruntime"));
  EXPECT_THAT([&] { to_onnx(model, {.opset = 11}); },
              ThrowsMessage<Error>(HasSubstr("scales per channel need opset 13, not 11")));
}

/// TensorRT's rules: symmetric pairs at the inputs of layers, zero points 0, float biases, and a
/// pair on only one branch of a residual sum.
TEST(QuantizedOnnx, TensorRtRules) {
  const QuantModel model = calibrated_net(config_for("tensorrt_explicit"));
  const onnx::ModelProto file = to_onnx(model);
  std::map<std::string, const onnx::TensorProto*> constants;
  for (const onnx::TensorProto& tensor : file.graph().initializer())
    constants[tensor.name()] = &tensor;
  std::map<std::string, std::string> makers;
  for (const onnx::NodeProto& node : file.graph().node()) makers[node.output(0)] = node.op_type();
  const auto is_pair = [&](const std::string& value) {
    return makers[value] == "DequantizeLinear";
  };
  for (const onnx::NodeProto& node : file.graph().node()) {
    if (node.op_type() == "QuantizeLinear" || node.op_type() == "DequantizeLinear") {
      const onnx::TensorProto& zero = *constants.at(node.input(2));
      EXPECT_EQ(zero.data_type(), onnx::TensorProto::INT8);
      EXPECT_EQ(zero.raw_data(), std::string(zero.raw_data().size(), '\0'));
    } else if (node.op_type() == "Conv" || node.op_type() == "Gemm") {
      EXPECT_TRUE(is_pair(node.input(0)) && is_pair(node.input(1))) << node.name();
      EXPECT_EQ(constants.at(node.input(2))->data_type(), onnx::TensorProto::FLOAT);
    } else if (node.op_type() == "Add") {
      EXPECT_NE(is_pair(node.input(0)), is_pair(node.input(1)));
      EXPECT_EQ(makers[node.input(is_pair(node.input(0)) ? 1 : 0)], "Conv");
    }
  }
}

}  // namespace
}  // namespace sparsebit::exports::test::quantized_onnx_test
