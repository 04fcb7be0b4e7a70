// Models of the zoo with the settings for ONNX Runtime: the simulation, the imported file and ONNX
// Runtime agree, and ONNX Runtime runs the int8 kernels that coverage reports.

#include "core/temp_dir.h"

#include "sparsebit/core/yaml.h"
#include "sparsebit/export/certificate.h"
#include "sparsebit/export/onnxruntime.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/nn/functional.h"
#include "sparsebit/nn/layers.h"
#include "sparsebit/report/coverage.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace sparsebit::exports::test::quantized_zoo_test {
namespace {

/// The number of kernels of each type that ONNX Runtime runs for a model.
using Kernels = std::map<std::string, int>;

struct Case {
  std::string name;
  Kernels kernels;  ///< expected kernels and their number
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class QuantizedZoo : public testing::TestWithParam<Case> {};

quant::QuantModel calibrated(const zoo::Example& example) {
  quant::QConfig config = quant::default_qconfig(platforms::find_platform("onnxruntime"));
  config.schedule.float_where_faster = false;  // all integer kernels
  quant::QuantModel model(*example.model, config, example.inputs);
  model.prepare_calibration();
  model.forward(example.inputs);
  model.calc_qparams();
  model.set_quant({.weights = true, .activations = true});
  return model;
}

/// Int8 coverage agrees with the kernels that ONNX Runtime runs.
void expect_as_foretold(const report::Coverage& coverage, const Kernels& kernels) {
  struct Family {
    std::vector<std::string> operators, of_integers, of_floats;
  };
  const std::vector<Family> families = {
      {{"conv1d", "conv2d", "conv3d"}, {"QLinearConv"}, {"Conv", "FusedConv"}},
      {{"linear", "matmul", "bmm"},
       {"QGemm", "QLinearMatMul", "MatMulIntegerToFloat"},
       {"Gemm", "FusedGemm", "MatMul", "FusedMatMul"}},
      {{"cat"}, {"QLinearConcat"}, {}},  // shapes are concatenated, too
      {{"adaptive_avg_pool2d", "avg_pool2d"},
       {"QLinearGlobalAveragePool", "QLinearAveragePool"},
       {"GlobalAveragePool", "AveragePool"}},
      {{"leaky_relu"}, {"QLinearLeakyRelu"}, {"LeakyRelu"}}};
  for (const auto& [operators, of_integers, of_floats] : families) {
    const auto foretold = [&](bool integers) {
      return std::count_if(coverage.nodes.begin(), coverage.nodes.end(), [&](const auto& node) {
        return !node.why_float == integers &&
               std::find(operators.begin(), operators.end(), node.op) != operators.end();
      });
    };
    const auto run = [&](const std::vector<std::string>& types) {
      int count = 0;
      for (const std::string& type : types) {
        if (const auto it = kernels.find(type); it != kernels.end()) count += it->second;
      }
      return count;
    };
    EXPECT_EQ(foretold(true), run(of_integers)) << operators.front();
    if (of_floats.empty()) continue;
    EXPECT_EQ(foretold(false), run(of_floats)) << operators.front();
  }
}

TEST_P(QuantizedZoo, IsTheSameEverywhereAndRunsWithIntegers) {
  const at::NoGradGuard no_gradients;
  const zoo::Example example = zoo::make(GetParam().name);
  quant::QuantModel model = calibrated(example);
  const sparsebit::test::TempDir dir;
  const auto file = dir / "model.onnx", optimized = dir / "optimized.onnx";
  export_onnx(model, file, {.opset = 17});

  std::vector<at::Tensor> inputs;
  for (const fx::Value& input : example.inputs) inputs.push_back(input.tensor());
  std::vector<std::vector<at::Tensor>> batches = {{}, inputs};
  const Certificate certificate =
      certify({.file = file, .simulation = &model}, [&](int64_t) -> std::vector<at::Tensor> {
        const auto batch = batches.back();
        batches.pop_back();
        return batch;
      });
  ASSERT_EQ(certificate.comparisons.size(), 3u);
  for (const size_t exact : {0, 1}) {  // imported file, and ONNX Runtime without optimizations
    for (const OutputDifference& output : certificate.comparisons[exact].outputs)
      EXPECT_GE(output.within_step, 0.999) << to_string(certificate.comparisons[exact].runner);
  }

  OnnxRuntime().load(file, {.optimized = optimized});
  Kernels kernels;
  const onnx::ModelProto run = io::load_onnx(optimized);
  for (const onnx::NodeProto& node : run.graph().node()) ++kernels[node.op_type()];
  for (const auto& [type, count] : GetParam().kernels) EXPECT_EQ(kernels[type], count) << type;
  expect_as_foretold(report::coverage_of(model), kernels);
}

/// Channels divided by split and by slices, a branch, and a concatenation, as in YOLOv8.
class SplitNet : public nn::Module {
 public:
  SplitNet() : Module("SplitNet", "x") {
    add_module("stem", nn::Conv2d(3, 16, 3, {{"padding", 1}}));
    for (const char* name : {"a", "b"}) add_module(name, nn::Conv2d(8, 8, 3, {{"padding", 1}}));
    add_module("mix", nn::Conv2d(24, 16, 1));
    add_module("last", nn::Conv2d(24, 8, 1));
  }
  nn::Value forward(const nn::Args& in) override {
    const nn::Value x = call("stem", in["x"]);
    const nn::Value parts = nn::chunk(x, 2, 1);
    const nn::Value half = nn::getitem(parts, 1), detour = half + call("a", half);
    const nn::Value y = call("mix", nn::cat({nn::getitem(parts, 0), half, detour}, 1));
    const auto slice = [&](int64_t from, int64_t to) {
      return nn::getitem(y, fx::Tuple({fx::Slice(), fx::Slice(from, to)}));
    };
    return call("last", nn::cat({slice(0, 8), slice(8, 16), call("b", slice(8, 16))}, 1));
  }
};

TEST(QuantizedSplits, AllStepsAreIntegers) {
  const at::NoGradGuard no_gradients;
  at::manual_seed(2);
  zoo::Example example{std::make_shared<SplitNet>(), {at::randn({2, 3, 16, 16})}};
  example.model->eval();
  const quant::QuantModel model = calibrated(example);
  const report::Coverage coverage = report::coverage_of(model);
  EXPECT_EQ(coverage.share_of_nodes(), 1) << coverage.floats().front()->node;
  const sparsebit::test::TempDir dir;
  export_onnx(model, dir / "model.onnx", {.opset = 17});
  OnnxRuntime().load(dir / "model.onnx", {.optimized = dir / "optimized.onnx"});
  Kernels kernels;
  const onnx::ModelProto run = io::load_onnx(dir / "optimized.onnx");
  for (const onnx::NodeProto& node : run.graph().node()) ++kernels[node.op_type()];
  EXPECT_EQ(kernels["QLinearConv"], 5);
  EXPECT_EQ(kernels["QLinearConcat"] + kernels["Concat"], 2);
  EXPECT_EQ(kernels["QuantizeLinear"], 1);    // of the input
  EXPECT_EQ(kernels["DequantizeLinear"], 1);  // of the output
}

INSTANTIATE_TEST_SUITE_P(
    All, QuantizedZoo,
    testing::Values(
        Case{"resnet20", {{"QLinearConv", 19}, {"QLinearAdd", 7}, {"Conv", 0}}},
        Case{"mobilenet_v2", {{"QLinearConv", 52}, {"QLinearAdd", 10}, {"Conv", 0}}},
        Case{"resnet18", {{"QLinearConv", 20}, {"QLinearAdd", 8}, {"NhwcMaxPool", 1}, {"Conv", 0}}},
        Case{"squeezenet1_1", {{"QLinearConv", 26}, {"QLinearConcat", 8}, {"NhwcMaxPool", 3}}},
        Case{"yolo", {{"QLinearConv", 31}, {"Conv", 0}}},
        Case{"deit_tiny", {{"QLinearConv", 1}, {"MatMul", 0}, {"Gemm", 0}}},
        Case{"bert", {{"MatMulIntegerToFloat", 84}, {"MatMul", 0}, {"Gemm", 0}}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sparsebit::exports::test::quantized_zoo_test
