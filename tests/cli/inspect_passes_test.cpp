#include "cli/model_files.h"
#include "cli/run_command.h"
#include "core/temp_dir.h"

#include "sparsebit/fx/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace sparsebit::cli::test::inspect_passes_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(InspectPasses, TheTableEndsWithWhatWasDone) {
  const Result result = run_command({"inspect", "zoo:resnet20", "--simplify", "--fuse"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("opcode"));
  EXPECT_THAT(result.out, Not(HasSubstr("torch.nn.BatchNorm2d")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("\npasses: "), HasSubstr("\n  fuse_bn")));
}

TEST(InspectPasses, WithoutLeavesAPassOut) {
  const Result result =
      run_command({"inspect", "zoo:resnet20", "--simplify", "--fuse", "--without", "fuse_bn"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("torch.nn.BatchNorm2d"));
  EXPECT_THAT(result.out, Not(HasSubstr("fuse_bn ")));
}

TEST(InspectPasses, NamesOfPassesInAnyCase) {
  const Result result =
      run_command({"inspect", "zoo:resnet20", "--fuse", "--without", "FUSE_BN", "--passes"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "no changes\n");
}

TEST(InspectPasses, ChangesAloneAndOfOneNode) {
  const Result all = run_command({"inspect", "zoo:resnet20", "--fuse", "--passes"});
  EXPECT_THAT(all.out, Not(HasSubstr("opcode")));
  EXPECT_GT(std::count(all.out.begin(), all.out.end(), '\n'), 15);
  EXPECT_EQ(run_command({"inspect", "zoo:resnet20", "--fuse", "--passes", "--node", "conv1"}).out,
            "fuse_bn  conv1, bn1 -> conv1\n");
  const Result path =
      run_command({"inspect", "zoo:resnet20", "--fuse", "--passes", "--node", "layer1.0.conv1"});
  EXPECT_EQ(path.out, "fuse_bn  layer1_0_conv1, layer1_0_bn1 -> layer1_0_conv1\n") << path.err;
  const Result wrong =
      run_command({"inspect", "zoo:resnet20", "--fuse", "--passes", "--node", "conv11"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err,
              StartsWith("error: --node conv11: no node of this name before or after the "
                         "passes; did you mean 'conv1'"));
}

TEST(InspectPasses, OtherFormatsStayReadable) {
  const std::string fx = run_command({"inspect", "zoo:resnet20", "--fuse", "--format", "fx"}).out;
  EXPECT_THAT(fx, HasSubstr("\n# fuse_bn  conv1, bn1 -> conv1\n"));
  EXPECT_NO_THROW(fx::parse_graph(fx));
  EXPECT_THAT(run_command({"inspect", "zoo:resnet20", "--fuse", "--format", "mermaid"}).out,
              HasSubstr("\n%% fuse_bn  conv1, bn1 -> conv1\n"));
  const auto json =
      nlohmann::json::parse(run_command({"inspect", "zoo:resnet20", "--fuse", "--json"}).out);
  EXPECT_EQ(json["passes"][0].dump(),
            R"({"after":["conv1"],"before":["conv1","bn1"],"pass":"fuse_bn"})");
  EXPECT_TRUE(json.contains("nodes"));
  EXPECT_EQ(
      nlohmann::json::parse(
          run_command({"inspect", "zoo:resnet20", "--fuse", "--passes", "--json"}).out)[0]["pass"],
      "fuse_bn");
}

TEST(InspectPasses, UnknownOperatorsAreNoObstacle) {
  const sparsebit::test::TempDir dir;
  const std::string path = dir / "m.onnx";
  save_custom_model(path);
  const Result result =
      run_command({"inspect", path.c_str(), "--simplify", "--fuse", "--equalize"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("onnx.com.acme.Foo"));
}

}  // namespace
}  // namespace sparsebit::cli::test::inspect_passes_test
