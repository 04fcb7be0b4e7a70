#include "sparsebit/export/certificate.h"

#include "core/temp_dir.h"
#include "export/certificate/difference_meter.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/sha256.h"
#include "sparsebit/core/yaml.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/quant/saved_model.h"
#include "sparsebit/zoo/deit.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

namespace sparsebit::exports::test::certificate_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

// --- differences ------------------------------------------------------------------------------

TEST(DifferenceMeter, CountsInSteps) {
  DifferenceMeter meter;
  const at::Tensor expected = at::arange(0, 1000).to(at::kFloat).reshape({1, 1000});
  at::Tensor found = expected.clone();
  found[0][10] += 30;  // one in a thousand does not count
  meter.add(expected, found);
  const OutputDifference by_scale = meter.result("y", 10);
  EXPECT_EQ(by_scale.largest, 3);
  EXPECT_EQ(by_scale.of_most, 0);
  EXPECT_DOUBLE_EQ(by_scale.within_step, 0.999);
  EXPECT_NEAR(by_scale.relative, 30. / 999, 1e-9);
  EXPECT_NEAR(meter.result("y", 0).step, 999. / 255, 1e-9);
  found[0][11] += 20;
  meter.add(expected, found);  // three of two thousand
  EXPECT_NEAR(meter.result("y", 10).of_most, 2, 0.01);
}

TEST(DifferenceMeter, AnswersAreOfScores) {
  DifferenceMeter meter;
  meter.add(at::tensor({1., 2., 2., 1.}).view({2, 2}), at::tensor({1., 3., 1., 2.}).view({2, 2}));
  EXPECT_EQ(meter.result("y", 1).answer, 0.5);
  DifferenceMeter boxes;
  boxes.add(at::zeros({1, 4, 4}), at::zeros({1, 4, 4}));
  EXPECT_EQ(boxes.result("y", 1).answer, std::nullopt);
}

TEST(DifferenceMeter, NumbersThatAreNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  DifferenceMeter same;
  same.add(at::tensor({nan, inf, 1.f}), at::tensor({nan, inf, 1.f}));
  EXPECT_EQ(same.result("y", 1).largest, 0);
  DifferenceMeter other;
  other.add(at::tensor({1.f, 2.f}), at::tensor({nan, 2.f}));
  EXPECT_EQ(other.result("y", 1).largest, inf);
  EXPECT_EQ(other.result("y", 1).of_most, inf);
  DifferenceMeter wide;  // an infinity does not widen the range
  wide.add(at::tensor({-inf, 0.f, 255.f}), at::tensor({-inf, 0.f, 250.f}));
  EXPECT_EQ(wide.result("y", 0).step, 1);
  EXPECT_EQ(wide.result("y", 0).largest, 5);
  DifferenceMeter constant;
  constant.add(at::full({4}, 255.f), at::full({4}, 250.f));
  EXPECT_EQ(constant.result("y", 0).largest, 5);
}

TEST(DifferenceMeter, ShapesHaveToBeThoseExpected) {
  DifferenceMeter meter;
  EXPECT_THAT([&] { meter.add(at::zeros({2, 3}), at::zeros({3, 2})); },
              ThrowsMessage<Error>(HasSubstr("output shape: expected [2, 3], found [3, 2]")));
}

// --- certificates -----------------------------------------------------------------------------

class Net : public nn::Module {
 public:
  Net() : Module("Net", "x") {
    add_module("stem", nn::Conv2d(3, 8, 3));
    add_module("relu", nn::ReLU());
    add_module("fc", nn::Linear(8 * 6 * 6, 5));
  }
  nn::Value forward(const nn::Args& in) override {
    return call("fc", nn::flatten(call("relu", call("stem", in["x"])), 1));
  }
};

class OneLayer : public nn::Module {
 public:
  explicit OneLayer(nn::ModulePtr layer) : Module("OneLayer", "x") {
    add_module("layer", std::move(layer));
  }
  nn::Value forward(const nn::Args& in) override { return call("layer", in["x"]); }
};

quant::QConfig default_config() {
  return quant::default_qconfig(platforms::find_platform("onnxruntime"));
}

class CertificateTest : public testing::Test {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    Net net;
    const auto traced = fx::Tracer().trace(net);
    traced->eval();
    model_.emplace(*traced, default_config(), std::vector<fx::Value>{x_.slice(0, 0, 1)});
    model_->prepare_calibration();
    model_->forward({x_});
    model_->calc_qparams();
    model_->set_quant({.weights = true, .activations = true});
    export_onnx(*model_, file_, {.opset = 17});
    fx::record_shapes(*traced, {x_.slice(0, 0, 1)});
    export_onnx(*traced, original_, {.opset = 17, .dynamic_axes = {{"x", {{0, "batch"}}}}});
  }

  /// All samples, two at a time.
  NextBatch batches() {
    return [this, start = int64_t{0}](int64_t) mutable -> std::vector<at::Tensor> {
      if (start >= x_.size(0)) return {};
      start += 2;
      return {x_.slice(0, start - 2, start)};
    };
  }

  const sparsebit::test::TempDir dir_;
  const std::filesystem::path file_ = dir_ / "q.onnx", original_ = dir_ / "float.onnx";
  const at::Tensor x_ = at::randn({6, 3, 8, 8}, at::detail::createCPUGenerator(3));
  std::optional<quant::QuantModel> model_;
};

TEST_F(CertificateTest, AllWaysAreCompared) {
  const Certificate certificate =
      certify({.file = file_, .original = original_, .simulation = &*model_, .speed_seconds = 0.2},
              batches());
  EXPECT_TRUE(certificate.passed());
  EXPECT_EQ(certificate.samples, 6);
  EXPECT_EQ(certificate.expected, "simulation");
  ASSERT_THAT(certificate.comparisons, SizeIs(4));
  EXPECT_EQ(certificate.comparisons[0].runner, Runner::ReadAgain);
  EXPECT_EQ(certificate.comparisons[0].outputs[0].largest, 0);
  EXPECT_EQ(certificate.comparisons[1].runner, Runner::NotOptimized);
  EXPECT_EQ(certificate.comparisons[1].outputs[0].largest, 0);
  EXPECT_EQ(certificate.comparisons[1].limit, 1);
  EXPECT_EQ(certificate.comparisons[2].runner, Runner::Optimized);
  EXPECT_EQ(certificate.comparisons[2].limit, certificate.comparisons[3].outputs[0].of_most);
  EXPECT_EQ(certificate.comparisons[3].runner, Runner::FloatModel);
  EXPECT_GT(certificate.comparisons[3].outputs[0].largest, 0);
  EXPECT_TRUE(certificate.comparisons[3].outputs[0].answer.has_value());
  EXPECT_GT(certificate.speed->ratio(), 0);
  EXPECT_EQ(certificate.sha256.at("file"), sha256_of_file(file_));
  Sha256 data;
  data.add(x_.data_ptr(), x_.nbytes());
  EXPECT_EQ(certificate.sha256.at("data"), data.hex());
}

TEST_F(CertificateTest, AnotherFileFails) {
  model_->layer("fc").weight_quantizer().set_qparams(
      {at::full({5}, 0.5), at::zeros({5})});  // scales now differ from the file's
  const Certificate certificate =
      certify({.file = file_, .simulation = &*model_, .speed_seconds = 0}, batches());
  EXPECT_FALSE(certificate.passed());
  EXPECT_THAT(to_text(certificate), HasSubstr("certificate: FAILED"));
  EXPECT_THAT(to_text(certificate), HasSubstr("above the limit"));
}

TEST_F(CertificateTest, WithoutOnnxRuntimeItIsIncomplete) {
  setenv("SPARSEBIT_ONNXRUNTIME", (dir_ / "nothing").c_str(), 1);
  const Certificate certificate =
      certify({.file = file_, .original = original_, .simulation = &*model_}, batches());
  unsetenv("SPARSEBIT_ONNXRUNTIME");
  EXPECT_EQ(certificate.verdict(), Verdict::Incomplete);
  EXPECT_FALSE(certificate.passed());
  ASSERT_THAT(certificate.comparisons, SizeIs(3));
  EXPECT_TRUE(certificate.comparisons[0].passed);
  EXPECT_THAT(certificate.comparisons[1].missing, HasSubstr("ONNX Runtime was not found"));
  EXPECT_EQ(certificate.speed, std::nullopt);
  EXPECT_EQ(certificate.quality, std::nullopt);
  EXPECT_THAT(to_text(certificate), HasSubstr("certificate: INCOMPLETE"));
  EXPECT_THAT(to_text(certificate), HasSubstr("not compared: ONNX Runtime was not found"));
  EXPECT_THAT(to_json(certificate), HasSubstr("\"verdict\": \"incomplete\""));
}

TEST_F(CertificateTest, OnnxRuntimeIsLeftOutWhenAsked) {
  const Certificate certificate = certify(
      {.file = file_, .original = original_, .simulation = &*model_, .without_runtime = true},
      batches());
  EXPECT_EQ(certificate.verdict(), Verdict::Passed);
  EXPECT_THAT(certificate.comparisons, SizeIs(1));
  EXPECT_THAT(to_text(certificate), HasSubstr("certificate: passed without ONNX Runtime (6"));
  EXPECT_THAT(
      [&] { certify({.file = file_, .without_runtime = true}, batches()); },
      ThrowsMessage<Error>(HasSubstr("without ONNX Runtime, give the simulation to compare with")));
}

TEST_F(CertificateTest, WithNothingComparedNothingIsProved) {
  setenv("SPARSEBIT_ONNXRUNTIME", "/bin/echo", 1);  // replies with something else
  const Certificate certificate = certify({.file = file_}, batches());
  unsetenv("SPARSEBIT_ONNXRUNTIME");
  EXPECT_EQ(certificate.verdict(), Verdict::Incomplete);
}

TEST_F(CertificateTest, QuantizationHasToBeOn) {
  model_->set_quant({});
  EXPECT_THAT([&] { certify({.file = file_, .simulation = &*model_}, batches()); },
              ThrowsMessage<Error>(
                  "certify(): quantization of the simulation is off, so it computes the float "
                  "model; call set_quant({.weights = true, .activations = true}) first"));
}

/// Quality compares the deployed file with the float model.
TEST_F(CertificateTest, QualityIsOfTheDeployedFile) {
  const CertifyOptions options{.file = file_, .original = original_, .speed_seconds = 0};
  const Certificate certificate = certify(options, batches());
  ASSERT_TRUE(certificate.quality.has_value());
  EXPECT_EQ(certificate.quality->level, QualityLevel::Good) << to_text(certificate);
  EXPECT_GT(certificate.quality->snr, 25);
  EXPECT_FALSE(certificate.quality->top1_is_judged);  // of six samples
  const auto json = nlohmann::json::parse(to_json(certificate));
  EXPECT_EQ(json["quality"]["level"], "good");
  // A file of another network passes its own comparisons but is useless for this model.
  at::manual_seed(9);
  Net other;
  const auto traced = fx::Tracer().trace(other);
  fx::record_shapes(*traced, {x_.slice(0, 0, 1)});
  export_onnx(*traced, original_, {.opset = 17, .dynamic_axes = {{"x", {{0, "batch"}}}}});
  const Certificate useless = certify(options, batches());
  EXPECT_EQ(useless.quality->level, QualityLevel::Useless) << to_text(useless);
  EXPECT_THAT(to_text(useless), HasSubstr("quality: useless ("));
}

TEST_F(CertificateTest, FloatFilesAreNone) {
  EXPECT_THAT([&] { certify({.file = original_}, batches()); },
              ThrowsMessage<Error>(HasSubstr("no quantized nodes")));
}

TEST_F(CertificateTest, AFileThatOnnxRuntimeRefuses) {
  export_onnx(*model_, file_, {.opset = 17, .quantized = {.bits_attribute = true}});
  const Certificate certificate = certify({.file = file_, .simulation = &*model_}, batches());
  EXPECT_FALSE(certificate.passed());
  EXPECT_THAT(certificate.comparisons[1].missing, HasSubstr("Unrecognized attribute: bits"));
}

TEST_F(CertificateTest, AsJson) {
  const auto json = nlohmann::json::parse(
      to_json(certify({.file = file_, .original = original_, .speed_seconds = 0.2}, batches())));
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["expected"], "file, read again");
  EXPECT_EQ(json["comparisons"][0]["runner"], "ONNX Runtime, not optimized");
  EXPECT_EQ(json["comparisons"][0]["outputs"][0]["steps_largest"], 0);
  EXPECT_GT(json["speed"]["ratio"], 0);
  EXPECT_EQ(json["sha256"]["file"].get<std::string>().size(), 64u);
}

/// Processors without VNNI add two products in 16 bits. Large weights must not overflow there: with
/// one input channel (grey images), with several, and in depthwise convolutions.
TEST_F(CertificateTest, ProductsDoNotOverflow) {
  struct Layer {
    int64_t channels, groups;
  };
  for (const auto& [channels, groups] : {Layer{1, 1}, Layer{4, 1}, Layer{4, 4}}) {
    SCOPED_TRACE(std::to_string(channels) + " channels, groups " + std::to_string(groups));
    const nn::ModulePtr layer = nn::Conv2d(channels, 4, 3, {{"groups", groups}});
    const at::NoGradGuard no_gradients;
    at::Tensor(*layer->find_tensor("weight")).fill_(0.5);
    const at::Tensor x = at::rand({4, channels, 8, 8}, at::detail::createCPUGenerator(3)) + 2;
    OneLayer network(layer);
    quant::QuantModel model(network, default_config(), {x.slice(0, 0, 1)});
    model.prepare_calibration();
    model.forward({x});
    model.calc_qparams();
    model.set_quant({.weights = true, .activations = true});
    export_onnx(model, file_, {.opset = 17});
    bool shown = false;
    const Certificate certificate =
        certify({.file = file_, .simulation = &model, .most_steps_optimized = 1.001},
                [&](int64_t) -> std::vector<at::Tensor> {
                  return std::exchange(shown, true) ? std::vector<at::Tensor>{} : std::vector{x};
                });
    EXPECT_TRUE(certificate.passed()) << to_text(certificate);
  }
}

/// Many layers, which accumulate rounding errors.
class DeepNet : public nn::Module {
 public:
  static constexpr int kLayers = 20;
  DeepNet() : Module("DeepNet", "x") {
    for (int i = 0; i < kLayers; ++i)
      add_module("conv" + std::to_string(i), nn::Conv2d(i == 0 ? 3 : 16, 16, 3, {{"padding", 1}}));
    add_module("relu", nn::ReLU());
  }
  nn::Value forward(const nn::Args& in) override {
    nn::Value x = in["x"];
    for (int i = 0; i < kLayers; ++i)
      x = call("conv" + std::to_string(i), i == 0 ? x : call("relu", x));
    return x;
  }
};

/// Scales with all 24 significant bits, so that sums of floats depend on their order.
class CertificateOfAllBits : public testing::Test {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    const at::NoGradGuard no_gradients;
    DeepNet net;
    for (const auto& item : net.named_parameters()) {
      if (item.key().ends_with("weight"))
        at::Tensor(item.value()).mul_(2.4);  // keeps activations from shrinking
    }
    net.eval();
    const quant::QConfig config = quant::parse_qconfig(parse_yaml(R"(
BACKEND: onnxruntime
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {TYPE: uniform, BIT: 8}, OBSERVER: {TYPE: minmax}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {TYPE: uniform, BIT: 8}, OBSERVER: {TYPE: minmax}}
)",
                                                                  "qconfig.yaml"));
    model_.emplace(net, config, std::vector<fx::Value>{x_.slice(0, 0, 1)});
    model_->prepare_calibration();
    model_->forward({x_});
    model_->calc_qparams();
    model_->set_quant({.weights = true, .activations = true});
    export_onnx(*model_, file_, {.opset = 17});
  }

  static void add_constant(onnx::GraphProto& graph, const char* name, const at::Tensor& value) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.add_dims(value.numel());
    tensor.set_data_type(value.scalar_type() == at::kFloat ? onnx::TensorProto::FLOAT
                                                           : onnx::TensorProto::INT8);
    tensor.set_raw_data(value.data_ptr(), value.nbytes());
  }

  /// Edits the DequantizeLinear of the weight of a layer in the middle.
  void edit(const std::function<void(onnx::NodeProto& pair, onnx::GraphProto& graph)>& change) {
    onnx::ModelProto model = io::load_onnx(file_);
    onnx::GraphProto& graph = *model.mutable_graph();
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      const bool is_pair = node.op_type() == "DequantizeLinear";
      if (is_pair && node.input(0).starts_with("conv10.weight")) {
        change(node, graph);
        io::save_onnx(model, file_);
        return;
      }
    }
    FAIL() << "the file has no weight of conv10";
  }

  Certificate certificate() {
    bool shown = false;
    return certify({.file = file_, .simulation = &*model_, .speed_seconds = 0},
                   [&](int64_t) -> std::vector<at::Tensor> {
                     return std::exchange(shown, true) ? std::vector<at::Tensor>{}
                                                       : std::vector{x_};
                   });
  }

  const sparsebit::test::TempDir dir_;
  const std::filesystem::path file_ = dir_ / "q.onnx";
  const at::Tensor x_ = at::randn({2, 3, 24, 24}, at::detail::createCPUGenerator(3));
  std::optional<quant::QuantModel> model_;
};

TEST_F(CertificateOfAllBits, IsJudgedByWhatRoundingDoes) {
  const Certificate found = certificate();
  EXPECT_TRUE(found.passed()) << to_text(found);
  const double steps = found.find(Runner::NotOptimized)->outputs[0].of_most;
  if (steps > 1) {
    ASSERT_TRUE(found.rounding.has_value());
    EXPECT_GT(*found.rounding, 0);
    EXPECT_EQ(found.find(Runner::NotOptimized)->limit, std::max(1., 2 * *found.rounding));
  }
}

TEST_F(CertificateOfAllBits, AnotherScaleFails) {
  edit([](onnx::NodeProto& pair, onnx::GraphProto& graph) {
    add_constant(graph, "scale", at::full({16}, 0.01f));
    pair.set_input(1, "scale");
  });
  EXPECT_EQ(certificate().verdict(), Verdict::Failed);
}

TEST_F(CertificateOfAllBits, AnotherZeroPointFails) {
  edit([](onnx::NodeProto& pair, onnx::GraphProto& graph) {
    add_constant(graph, "zero_point", at::full({16}, 5, at::kChar));
    pair.set_input(2, "zero_point");
  });
  EXPECT_EQ(certificate().verdict(), Verdict::Failed);
}

TEST_F(CertificateOfAllBits, SwappedWeightsFail) {
  const at::NoGradGuard no_gradients;
  at::Tensor a = *model_->module().find_tensor("conv10.weight"),
             b = *model_->module().find_tensor("conv11.weight");
  const at::Tensor kept = a.clone();
  a.copy_(b);
  b.copy_(kept);
  EXPECT_EQ(certificate().verdict(), Verdict::Failed);
}

/// Simulation and file agree on norms, softmax and gelu for every platform that exports ONNX.
TEST_F(CertificateTest, TransformersOfEveryPlatform) {
  const at::NoGradGuard no_gradients;
  const auto network = zoo::deit({.image_size = 64, .depth = 2});
  nn::reset_parameters(*network, 1);
  network->eval();
  const at::Tensor x = at::randn({2, 3, 64, 64}, at::detail::createCPUGenerator(2));
  for (const char* platform : {"onnxruntime", "virtual", "tensorrt", "tensorrt_explicit", "qdq"}) {
    SCOPED_TRACE(platform);
    quant::QuantModel model(*network, quant::default_qconfig(platforms::find_platform(platform)),
                            {x.slice(0, 0, 1)});
    model.prepare_calibration();
    model.forward({x});
    model.calc_qparams();
    model.set_quant({.weights = true, .activations = true});
    export_onnx(model, file_, {.opset = 17});
    const auto again = quant::restore_model(quant::save_model(model));
    for (quant::QuantModel* simulation : {&model, again.get()}) {
      bool shown = false;
      const Certificate certificate = certify(
          {.file = file_, .simulation = simulation}, [&](int64_t) -> std::vector<at::Tensor> {
            return std::exchange(shown, true) ? std::vector<at::Tensor>{} : std::vector{x};
          });
      EXPECT_LE(certificate.find(Runner::ReadAgain)->outputs.front().of_most, 1e-3)
          << to_text(certificate);
    }
  }
}

TEST_F(CertificateTest, NoSamples) {
  EXPECT_THAT([&] { certify({.file = file_}, [](int64_t) { return std::vector<at::Tensor>(); }); },
              ThrowsMessage<Error>("certify(): no samples; expected at least one"));
}

TEST_F(CertificateTest, IntegerOperatorsAreNotReadAgain) {
  export_onnx(*model_, file_,
              {.opset = 17, .quantized = {.form = QuantizedOnnxOptions::Form::Operators}});
  const Certificate certificate =
      certify({.file = file_, .original = original_, .simulation = &*model_, .speed_seconds = 0},
              batches());
  EXPECT_THAT(certificate.comparisons[0].missing,
              HasSubstr("unknown operator 'onnx.com.microsoft.QGemm'"));
  EXPECT_THAT(certificate.comparisons[1].outputs, SizeIs(1));
}

}  // namespace
}  // namespace sparsebit::exports::test::certificate_test
