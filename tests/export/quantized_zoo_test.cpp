// Models of the zoo with the settings for ONNX Runtime: the simulation, the file read again, and
// ONNX Runtime give the same, and ONNX Runtime computes with integers where we say so.

#include "core/temp_dir.h"
#include "export/export_case.h"
#include "support/ort.h"

#include "sparsebit/core/yaml.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/quant/spec/default_config.h"
#include "sparsebit/report/coverage.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace sparsebit::exports::test::quantized_zoo_test {
namespace {

using sparsebit::test::OrtResult;

/// What ONNX Runtime runs of a model: kernels by type.
using Kernels = std::map<std::string, int>;

struct Case {
  std::string name;
  Kernels kernels;  ///< that have to be there, as often
  /// Of elements within a step of ONNX Runtime's. Float steps between integers (layer norms) differ
  /// in their last bits, rounding makes steps of that, and random weights do not forget them.
  double share = 0.999;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class QuantizedZoo : public testing::TestWithParam<Case> {};

quant::QuantModel calibrated(const zoo::Example& example) {
  const quant::QConfig config = quant::parse_qconfig(
      parse_yaml(quant::default_config(quant::Backend::OnnxRuntime), "default"));
  quant::QuantModel model(*example.model, config, example.inputs);
  model.prepare_calibration();
  model.forward(example.inputs);
  model.calc_qparams();
  model.set_quant({.weights = true, .features = true});
  return model;
}

at::Tensor first_of(const fx::Value& value) {
  return value.is_sequence() ? first_of(value.items().front()) : value.tensor();
}

/// The share of elements that differ by at most one step of 1/255 of the range.
double share_within_a_step(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor step = (a.max() - a.min()) / 255;
  return ((a - b).abs() <= step).to(at::kDouble).mean().item<double>();
}

/// What we say runs with integers is what ONNX Runtime runs with integers.
void expect_as_foretold(const report::Coverage& coverage, const Kernels& kernels) {
  struct Family {
    std::vector<std::string> operators, of_integers, of_floats;
  };
  const std::vector<Family> families = {
      {{"conv1d", "conv2d", "conv3d"}, {"QLinearConv"}, {"Conv", "FusedConv"}},
      {{"linear", "matmul", "bmm"},
       {"QGemm", "QLinearMatMul", "MatMulIntegerToFloat"},
       {"Gemm", "FusedGemm", "MatMul", "FusedMatMul"}},
      {{"cat"}, {"QLinearConcat"}, {}},  // shapes are put together by Concat, too
      {{"adaptive_avg_pool2d", "avg_pool2d"},
       {"QLinearGlobalAveragePool", "QLinearAveragePool"},
       {"GlobalAveragePool", "AveragePool"}},
      {{"leaky_relu"}, {"QLinearLeakyRelu"}, {"LeakyRelu"}}};
  for (const auto& [operators, of_integers, of_floats] : families) {
    const auto foretold = [&](bool integers) {
      return std::count_if(coverage.steps.begin(), coverage.steps.end(), [&](const auto& step) {
        return step.integers == integers &&
               std::find(operators.begin(), operators.end(), step.op) != operators.end();
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
  const at::Tensor expected = first_of(model.forward(example.inputs));

  const sparsebit::test::TempDir dir;
  const auto file = dir / "model.onnx", optimized = dir / "optimized.onnx";
  export_onnx(model, file, {.opset = 17});
  const auto again = frontends::import_onnx(std::filesystem::path(file));
  const Tensors here = run_reference(*again, example.inputs);
  EXPECT_GE(share_within_a_step(expected, here.front()), GetParam().share);

  std::map<std::string, at::Tensor> inputs;
  const auto placeholders = model.module().graph().placeholders();
  for (size_t i = 0; i < example.inputs.size(); ++i)
    inputs[placeholders[i]->target()] = example.inputs[i].tensor();
  const std::vector<OrtResult> results = sparsebit::test::run_onnxruntime(
      {{.model = file, .inputs = inputs},
       {.model = file, .inputs = inputs, .optimize = "all", .optimized = optimized}});
  for (const OrtResult& result : results) ASSERT_EQ(result.error, "");
  EXPECT_GE(share_within_a_step(expected, results[0].outputs.front()), GetParam().share);

  Kernels kernels;
  const onnx::ModelProto run = io::load_onnx(optimized);
  for (const onnx::NodeProto& node : run.graph().node()) ++kernels[node.op_type()];
  for (const auto& [type, count] : GetParam().kernels) EXPECT_EQ(kernels[type], count) << type;
  expect_as_foretold(report::coverage_in_onnxruntime(model), kernels);
}

INSTANTIATE_TEST_SUITE_P(
    All, QuantizedZoo,
    testing::Values(
        Case{"resnet20", {{"QLinearConv", 19}, {"QLinearAdd", 7}, {"Conv", 0}}},
        Case{"mobilenet_v2", {{"QLinearConv", 52}, {"QLinearAdd", 10}, {"Conv", 0}}},
        Case{"resnet18", {{"QLinearConv", 20}, {"QLinearAdd", 8}, {"NhwcMaxPool", 1}, {"Conv", 0}}},
        Case{"squeezenet1_1", {{"QLinearConv", 26}, {"QLinearConcat", 8}, {"NhwcMaxPool", 3}}},
        Case{"yolo", {{"QLinearConv", 31}, {"Conv", 0}}},
        Case{"deit_tiny", {{"QLinearConv", 1}, {"MatMul", 0}, {"Gemm", 0}}, 0.85},
        Case{"bert", {{"MatMulIntegerToFloat", 84}, {"MatMul", 0}, {"Gemm", 0}}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sparsebit::exports::test::quantized_zoo_test
