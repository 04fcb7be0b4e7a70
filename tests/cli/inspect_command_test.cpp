#include "cli/model_files.h"
#include "cli/run_command.h"
#include "core/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace sparsebit::cli::test::inspect_command_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Inspect, TableShowsShapesAndTotals) {
  const Result result = run_command({"inspect", "zoo:resnet18"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("opcode"));
  EXPECT_THAT(result.out, HasSubstr("float32[1, 64, 112, 112]"));
  EXPECT_THAT(result.out, HasSubstr("ResNet: 71 nodes, 11.69 M parameters\n"));
  EXPECT_EQ(result.err, "");
}

TEST(Inspect, InputsAndOutputsAreListed) {
  EXPECT_THAT(run_command({"inspect", "zoo:resnet20"}).out,
              EndsWith("input   x       float32[1, 3, 32, 32]\noutput  linear  float32[1, 10]\n"));
  const sparsebit::test::TempDir dir;
  const std::string path = dir / "m.onnx";
  save_onnx_model(path);
  EXPECT_THAT(run_command({"inspect", path.c_str()}).out,
              EndsWith("g: 6 nodes, 3 parameters\n"
                       "input   x        float32[batch, 3]\ninput   ids      int64[batch]\n"
                       "output  y        float32[batch, 3]\noutput  sum/out  int64[batch]\n"));
  const nlohmann::json json =
      nlohmann::json::parse(run_command({"inspect", path.c_str(), "--json"}).out);
  EXPECT_EQ(json["inputs"][0].dump(), R"({"dtype":"float32","name":"x","shape":["batch",3]})");
  EXPECT_EQ(json["outputs"][1].dump(), R"({"dtype":"int64","name":"sum/out","shape":["batch"]})");
}

TEST(Inspect, ASizeTooLargeToRunIsAWarning) {
  const sparsebit::test::TempDir dir;
  const std::string path = dir / "m.pt";
  save_torchscript_model(path);
  const Result result = run_command({"inspect", path.c_str(), "--shape", "x=1000000x1000000x1000"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, StartsWith("warning: shapes are incomplete, because " + path +
                                     " does not run on random inputs: input 'x': float32["));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  EXPECT_THAT(result.out, HasSubstr("torch.relu"));
}

TEST(Inspect, OperatorSetsBeyondTheTestedAreReported) {
  const sparsebit::test::TempDir dir;
  const std::string path = dir / "m.onnx";
  for (const int64_t opset : {6, 23}) {
    save_onnx_model(path, opset);
    const Result result = run_command({"inspect", path.c_str()});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "warning: " + path + ": the file uses operator set " +
                              std::to_string(opset) + ", and only sets 7 to 22 are tested\n");
  }
}

TEST(Inspect, ModelsThatDecideBySizesNeedThem) {
  const sparsebit::test::TempDir dir;
  const std::string path = dir / "m.pt";
  save_size_model(path);
  EXPECT_THAT(
      run_command({"inspect", path.c_str()}).err,
      HasSubstr("an if depends on the sizes of the inputs; give the input shapes (--shape"));
  EXPECT_THAT(run_command({"inspect", path.c_str(), "--shape", "x=2x3"}).out,
              HasSubstr("torch.relu"));
  EXPECT_THAT(run_command({"inspect", path.c_str(), "--shape", "x=1x3"}).out,
              HasSubstr("torch.sigmoid"));
}

TEST(Inspect, FormatsAreSelectable) {
  EXPECT_THAT(
      run_command({"inspect", "zoo:resnet20", "--format", "fx"}).out,
      StartsWith("graph:\n    %x : [#users=1] = placeholder[target=x]\n"
                 "    %conv1 : [#users=1] = call_module[target=conv1](args=(%x,), kwargs={})\n"));
  EXPECT_THAT(run_command({"inspect", "zoo:resnet20", "--format", "mermaid"}).out,
              StartsWith("graph TD\nx["));
  for (const auto& args : {std::vector<const char*>{"inspect", "zoo:resnet20", "--format", "json"},
                           std::vector<const char*>{"inspect", "zoo:resnet20", "--json"}}) {
    EXPECT_EQ(nlohmann::json::parse(run_command(args).out)["nodes"][1]["target"], "conv1");
  }
}

TEST(Inspect, SkippedModulesStayWhole) {
  const Result result = run_command(
      {"inspect", "zoo:resnet18", "--format", "fx", "--skip", "layer1*", "--skip", "layer4"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(
      result.out,
      HasSubstr("%layer1 : [#users=2] = call_module[target=layer1](args=(%maxpool,), kwargs={})"));
  EXPECT_THAT(result.out, HasSubstr("call_module[target=layer4]"));
  EXPECT_THAT(result.out, HasSubstr("call_module[target=layer2.0.conv1]"));
}

TEST(Inspect, PatternsThatMatchNothingAreReported) {
  const Result result = run_command({"inspect", "zoo:resnet20", "--skip", "neck*"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "warning: --skip 'neck*' matches no module that zoo:resnet20 calls\n");
  EXPECT_EQ(run_command({"inspect", "zoo:resnet20", "--skip", "neck*", "--quiet"}).err, "");
}

TEST(Inspect, WrongModelsAreClearErrors) {
  const Result unknown = run_command({"inspect", "zoo:resnet19"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err,
              StartsWith("error: unknown zoo model 'resnet19'; did you mean 'resnet18'"));
  EXPECT_EQ(unknown.out, "");
  const Result file = run_command({"inspect", "/nowhere/model.onnx"});
  EXPECT_EQ(file.code, 1);
  EXPECT_EQ(file.err, "error: /nowhere/model.onnx: cannot read: No such file or directory\n");
}

TEST(Inspect, FilesShowWhatTheyTell) {
  const sparsebit::test::TempDir dir;
  const std::string path = dir / "m.onnx";
  save_onnx_model(path);
  const Result open = run_command({"inspect", path.c_str()});
  EXPECT_EQ(open.code, 0) << open.err;
  EXPECT_THAT(open.out, HasSubstr("float32[batch, 3]"));
  EXPECT_THAT(open.out, HasSubstr("int64[batch]"));
  const Result fixed = run_command({"inspect", path.c_str(), "--shape", "x=4x3"});
  EXPECT_THAT(fixed.out, HasSubstr("float32[4, 3]"));
  EXPECT_THAT(fixed.out, HasSubstr("int64[4]"));
  EXPECT_THAT(run_command({"inspect", path.c_str(), "--skip", "a"}).err,
              HasSubstr("warning: --skip does nothing"));
}

TEST(Inspect, UnknownOperatorsAreListed) {
  const sparsebit::test::TempDir dir;
  const std::string path = dir / "m.onnx";
  save_custom_model(path);
  const Result result = run_command({"inspect", path.c_str()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("unknown operators, cannot be run: foo (onnx.com.acme.Foo)\n"));
}

TEST(Inspect, ModelsWithoutShapesAreShown) {
  const sparsebit::test::TempDir dir;
  const std::string path = dir / "m.pt";
  save_torchscript_model(path);
  const Result result = run_command({"inspect", path.c_str()});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("float32")));
  EXPECT_THAT(run_command({"inspect", path.c_str(), "--shape", "x=2"}).out,
              HasSubstr("float32[2]"));
}

TEST(Inspect, ListShowsTheZoo) {
  const Result result = run_command({"inspect", "zoo:list"});
  EXPECT_THAT(result.out, HasSubstr("zoo:mobilenet_v2   MobileNetV2, 224x224\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("opcode")));
  EXPECT_THAT(run_command({"inspect", "zoo:list", "--json"}).out,
              HasSubstr("\"name\": \"zoo:mobilenet_v2\""));
}

}  // namespace
}  // namespace sparsebit::cli::test::inspect_command_test
