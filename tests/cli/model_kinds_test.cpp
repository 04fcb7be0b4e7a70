#include "cli/run_command.h"
#include "core/temp_dir.h"

#include "sparsebit/export/onnx.h"
#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/parser.h"
#include "sparsebit/io/npy.h"
#include "sparsebit/nn/layers.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sparsebit::cli::model_kinds_test {
namespace {

using test::Result;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Kinds of models with special cases, from the model file to the certified file.
class ModelKinds : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (dir_ / name).string(); }

  Result run(const std::vector<std::string>& args) const {
    std::vector<const char*> pointers;
    for (const std::string& arg : args) pointers.push_back(arg.c_str());
    return test::run_command(pointers);
  }

  /// Writes model.onnx, and x.npy with samples for it.
  void save(const std::string& graph, const std::map<std::string, fx::ModulePtr>& layers,
            const at::Tensor& x) {
    fx::GraphModule module(fx::parse_graph(graph), "Net");
    for (const auto& [name, layer] : layers) module.set_module(name, layer);
    module.to(x.scalar_type());
    module.eval();
    fx::record_shapes(module, {x.narrow(0, 0, 1)});
    exports::export_onnx(module, path("model.onnx"), {.dynamic_axes = {{"x", {{0, "n"}}}}});
    io::save_npy(path("x.npy"), x.to(at::kFloat));
  }

  Result quantize(std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {
        "quantize", path("model.onnx"), "--data",       path("x.npy"), "-o", path("int8.onnx"),
        "-q",       "--certify",        "--preprocess", "none"};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }

  sparsebit::test::TempDir dir_;
};

at::Tensor noise(at::IntArrayRef sizes) {
  return at::randn(sizes, at::detail::createCPUGenerator(1));
}

/// docs/how_to/quantize_a_vision_transformer.md
TEST_F(ModelKinds, VisionTransformer) {
  const std::string model = std::string(SPARSEBIT_EXPORT_FIXTURES) + "/vit.opset17.onnx";
  io::save_npy(path("images.npy"), (noise({12, 3, 16, 16}) * 40 + 128).clamp(0, 255).to(at::kByte));
  const Result result = run({"quantize", model, "--data", path("images.npy"), "-o",
                             path("vit.int8.onnx"), "--certify", "-q"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("certificate: passed"), HasSubstr("100.0 % of MACs")));
  // Reports show the node names of the ONNX file.
  EXPECT_THAT(result.out, HasSubstr(" dB  /encoder/layers/encoder_layer_"));
}

TEST_F(ModelKinds, LayersAreExcludedByTheirNameInTheFile) {
  const std::string model = std::string(SPARSEBIT_EXPORT_FIXTURES) + "/vit.opset17.onnx";
  const Result result = run({"quantize", model, "--random-data", "-o", path("vit.int8.onnx"),
                             "--exclude", "/conv_proj/Conv", "-q", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  std::vector<std::string> excluded;
  const auto json = nlohmann::json::parse(result.out);
  for (const auto& decision : json["float"])
    if (decision["kind"] == "excluded_by_user") excluded.push_back(decision["source_name"]);
  EXPECT_THAT(excluded, testing::ElementsAre("/conv_proj/Conv"));
}

TEST_F(ModelKinds, RecurrentLayersCountAsFloat) {
  save(
      "%x = input()\n%r = self.lstm(%x)\n%h = operator.getitem(%r, 0)\n%y = self.fc(%h)\nreturn %y",
      {{"lstm", nn::LSTM(8, 16, {{"batch_first", true}})}, {"fc", nn::Linear(16, 4)}},
      noise({12, 5, 8}));
  const Result result = quantize({"--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  const double of_lstm = 4 * 16 * (8 + 16), of_fc = 16 * 4;
  EXPECT_NEAR(json["coverage"]["macs"], of_fc / (of_lstm + of_fc), 1e-6);
}

TEST_F(ModelKinds, NothingToQuantizeIsAVerdictAndNoFailure) {
  save("%x = input()\n%y = self.up(%x)\nreturn %y", {{"up", nn::ConvTranspose2d(3, 4, 2)}},
       noise({12, 3, 8, 8}));
  const Result result = quantize();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("verdict: float; nothing is quantized"),
                                HasSubstr("certificate: passed"),
                                Not(HasSubstr("layers with the largest error"))));
  EXPECT_FALSE(nlohmann::json::parse(quantize({"--json"}).out)["quantized"].get<bool>());
}

class HalfModel : public ModelKinds, public testing::WithParamInterface<at::ScalarType> {};

TEST_P(HalfModel, ComputesWithIntegers) {
  save("%x = input()\n%a = self.fc(%x)\n%b = torch.relu(%a)\n%y = self.last(%b)\nreturn %y",
       {{"fc", nn::Linear(8, 16)}, {"last", nn::Linear(16, 4)}}, noise({12, 8}).to(GetParam()));
  const Result result = quantize();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("certificate: passed"), HasSubstr("100.0 % of MACs")));
  const std::string type = GetParam() == at::kHalf ? "float16" : "float32";
  const auto json = nlohmann::json::parse(run({"inspect", path("int8.onnx"), "--json", "-q"}).out);
  EXPECT_EQ(json["inputs"][0]["dtype"], type);
  EXPECT_EQ(json["outputs"][0]["dtype"], type);
}

INSTANTIATE_TEST_SUITE_P(Types, HalfModel, testing::Values(at::kHalf, at::kBFloat16),
                         [](const auto& info) {
                           return info.param == at::kHalf ? "Float16" : "BFloat16";
                         });

TEST_F(ModelKinds, AQuantizedModelIsQuantizedAgainWhenAsked) {
  save("%x = input()\n%a = self.conv(%x)\n%b = torch.relu(%a)\n%y = self.last(%b)\nreturn %y",
       {{"conv", nn::Conv2d(3, 8, 3)}, {"last", nn::Conv2d(8, 4, 1)}}, noise({12, 3, 8, 8}));
  ASSERT_EQ(quantize().code, 0);
  std::filesystem::rename(path("int8.onnx"), path("model.onnx"));
  const Result refused = quantize({"--force"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("already quantized (3 QuantizeLinear nodes)"));
  const Result again = quantize({"--force", "--requantize", "--json"});
  EXPECT_EQ(again.code, 0) << again.err;
  const auto json = nlohmann::json::parse(again.out);
  EXPECT_EQ(json["coverage"]["macs"], 1.0);
  EXPECT_GT(json["certificate"]["quality"]["snr_db"].is_null()
                ? 1e9
                : json["certificate"]["quality"]["snr_db"].get<double>(),
            35);
}

TEST_F(ModelKinds, WhatIsFasterIsMeasured) {
  const Result result =
      run({"quantize", "zoo:mobilenet_v2", "--shape", "1x3x64x64", "--random-data", "--samples",
           "2", "-o", path("m.onnx"), "--measure", "-q", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out)["measured"];
  const auto& times = json["milliseconds"];
  EXPECT_EQ(times.size(), 3u);
  const std::string chosen = json["chosen"];
  const double table = times["float where faster"], everywhere = times["int8 everywhere"];
  EXPECT_EQ(chosen, table < 0.95 * everywhere ? "float where faster" : "int8 everywhere");
  EXPECT_THAT(run({"quantize", "zoo:resnet20", "--random-data", "--platform", "snpe", "-o",
                   path("m.onnx"), "--measure"})
                  .err,
              HasSubstr("--measure needs an ONNX output"));
}

}  // namespace
}  // namespace sparsebit::cli::model_kinds_test
