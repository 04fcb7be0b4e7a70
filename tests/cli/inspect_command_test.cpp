#include "cli/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sparsebit::cli::test {
namespace {

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
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err,
              StartsWith("error: unknown zoo model 'resnet19'; did you mean 'resnet18'"));
  EXPECT_EQ(unknown.out, "");
  const Result file = run_command({"inspect", "model.onnx"});
  EXPECT_EQ(file.code, 1);
  EXPECT_EQ(file.err,
            "error: cannot read 'model.onnx': this version reads built-in models only, written "
            "zoo:NAME, such as "
            "zoo:resnet18\n");
}

TEST(Inspect, ListShowsTheZoo) {
  const Result result = run_command({"inspect", "zoo:list"});
  EXPECT_THAT(result.out, HasSubstr("zoo:mobilenet_v2   MobileNetV2, 224x224\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("opcode")));
}

}  // namespace
}  // namespace sparsebit::cli::test
