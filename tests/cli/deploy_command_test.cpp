#include "cli/run_command.h"
#include "core/temp_dir.h"

#include "sparsebit/io/npy.h"
#include "sparsebit/platforms/platform.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <set>

namespace sparsebit::cli::test::deploy_command_test {
namespace {

using testing::HasSubstr;
using Arguments = std::vector<std::string>;

Result run(const Arguments& arguments) {
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  return run_command(pointers);
}

class DeployCommand : public testing::Test {
 protected:
  void SetUp() override {
    io::save_npy(dir_ / "x.npy", at::randn({2, 3, 32, 32}, at::detail::createCPUGenerator(1)));
  }

  std::string path(const std::string& name) const { return (dir_ / name).string(); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
  }
  Result deploy(const std::string& platform, Arguments more = {}) {
    Arguments arguments = {"deploy",      "zoo:resnet20", "--platform", platform, "--data",
                           path("x.npy"), "-o",           path("out"),  "-q"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    if (!std::filesystem::exists(path("out"))) return names;
    for (const auto& file : std::filesystem::directory_iterator(path("out")))
      names.insert(file.path().filename().string());
    return names;
  }

  sparsebit::test::TempDir dir_;
};

TEST_F(DeployCommand, WritesWhatThePlatformConsumes) {
  const Result result = deploy("snpe", {"--name", "net"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(files(), testing::ElementsAre("README.md", "net.onnx", "net_snpe_encodings.json"));
  EXPECT_THAT(result.out, HasSubstr("int8 coverage in snpe: 100.0 % of MACs"));
}

/// A saved simulation contains its calibration and its platform.
TEST_F(DeployCommand, FromASimulation) {
  ASSERT_EQ(run({"quantize", "zoo:resnet20", "--platform", "tensorrt", "--data", path("x.npy"),
                 "-o", path("sim"), "-q"})
                .code,
            0);
  const Result result = run({"deploy", path("sim"), "-o", path("out"), "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["platform"], "tensorrt");
  EXPECT_THAT(files(), testing::Contains("model_calibration.cache"));
  EXPECT_THAT(run({"deploy", path("sim"), "--platform", "snpe", "-o", path("out")}).err,
              HasSubstr("was quantized for tensorrt, but --platform is snpe"));
  EXPECT_THAT(run({"deploy", path("sim"), "--custom", "c.yaml", "-o", path("out")}).err,
              HasSubstr("is already calibrated: leave out --data"));
}

TEST_F(DeployCommand, APlatformOfTheUsers) {
  write("mine.yaml", "name: mine\nbased_on: qdq\noperators: {add: none}\n");
  ASSERT_EQ(deploy(path("mine.yaml")).code, 0);
  EXPECT_THAT(files(), testing::ElementsAre("README.md", "model_qdq.onnx"));
  write("bad.yaml", "name: mine\nbased_on: qdq\noperators: {relu: {form: layer}}\n");
  const Result bad = deploy(path("bad.yaml"));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("operators.relu.form: 'relu' has no weight"));
  write("typo.yaml", "name: mine\nbased_on: qdq\noperators: {addd: {form: scaling}}\n");
  EXPECT_THAT(deploy(path("typo.yaml")).err, HasSubstr("unknown operator 'addd'"));
  write("bits.yaml", "name: mine\nbased_on: qdq\nplacement: {first_and_last_bits: 70}\n");
  EXPECT_THAT(deploy(path("bits.yaml")).err, HasSubstr("expected 2 to 16 bits, found 70"));
}

TEST_F(DeployCommand, CustomChanges) {
  write("custom.yaml",
        "extra_quantizer_dict: {exclude_module_name: [layer1], exclude_node_name: [nosuch]}\n");
  const Result result = run({"deploy", "zoo:resnet20", "--platform", "qdq", "--data", path("x.npy"),
                             "--custom", path("custom.yaml"), "-o", path("out")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("'nosuch' matches no node"));
  EXPECT_THAT(result.out, testing::Not(HasSubstr("100.0 % of MACs")));
}

TEST_F(DeployCommand, AQuantizedFileIsRefusedOrMadeFloatFirst) {
  ASSERT_EQ(
      run({"quantize", "zoo:resnet20", "--data", path("x.npy"), "-o", path("q.onnx"), "-q"}).code,
      0);
  const std::vector<std::string> args = {"deploy", path("q.onnx"), "--platform", "snpe",
                                         "--data", path("x.npy"),  "-o",         path("out")};
  const Result refused = run(args);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("already quantized (31 QuantizeLinear nodes); quantize the "
                                     "original float model, or"));
  std::vector<std::string> again = args;
  again.push_back("--requantize");
  const Result result = run(again);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

TEST_F(DeployCommand, NothingThatIsThereIsOverwritten) {
  std::filesystem::create_directory(path("out"));
  write("out/README.md", "mine");
  EXPECT_THAT(deploy("snpe").err, HasSubstr("this README.md was not written by deploy"));
  EXPECT_EQ(files().size(), 1u);
  std::filesystem::remove(path("out/README.md"));
  ASSERT_EQ(run({"convert", "zoo:resnet20", "-o", path("out/model.onnx"), "-q"}).code, 0);
  const Result result = run({"deploy", path("out/model.onnx"), "--platform", "snpe", "--data",
                             path("x.npy"), "-o", path("out"), "-q"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("this input file would be overwritten"));
  ASSERT_EQ(deploy("qdq").code, 0);
  EXPECT_EQ(deploy("qdq").code, 0);  // files of the same model and platform are replaced
}

TEST_F(DeployCommand, MistakesAreFoundFirstAndLeaveNothing) {
  EXPECT_EQ(deploy("tpu").code, 2);
  EXPECT_THAT(deploy("qdq", {"--format", "onnx_qd"}).err, HasSubstr("did you mean 'onnx_qdq'"));
  EXPECT_THAT(run({"deploy", "zoo:resnet20", "-o", path("out")}).err,
              HasSubstr("--data is missing"));
  EXPECT_TRUE(files().empty());
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  write("file", "");
  const Result result =
      run({"deploy", "zoo:resnet20", "--data", path("x.npy"), "-o", path("file")});
  EXPECT_THAT(result.err, HasSubstr(": expected a folder, found a file"));
}

TEST(PlatformsCommand, ListsAndShows) {
  const Result list = run({"platforms"});
  const Result json = run({"platforms", "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out).size(), platforms::platforms().size());
  for (const std::string& name : platforms::platforms().names()) {
    EXPECT_THAT(list.out, HasSubstr(name + " "));
    EXPECT_EQ(run({"platforms", "--show", name}).out, platforms::platforms().get(name)->text);
  }
  EXPECT_EQ(run({"platforms", "--show", "tpu"}).code, 2);
}

TEST_F(DeployCommand, DecisionsDoNotOverwriteAnInputOrAnArtefact) {
  const Result input = deploy("snpe", {"--decisions", path("x.npy")});
  EXPECT_EQ(input.code, 1);
  EXPECT_THAT(input.err, HasSubstr("x.npy: an output cannot overwrite an input"));
  const Result artefact = deploy("snpe", {"--decisions", path("out/README.md")});
  EXPECT_EQ(artefact.code, 1);
  EXPECT_THAT(artefact.err, HasSubstr("README.md: two outputs have the same path"));
  EXPECT_TRUE(files().empty());
}

TEST_F(DeployCommand, DecisionsMayLieInTheNewFolder) {
  const Result result = deploy("snpe", {"--name", "net", "--decisions", path("out/why.txt")});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(files(),
              testing::ElementsAre("README.md", "net.onnx", "net_snpe_encodings.json", "why.txt"));
}

}  // namespace
}  // namespace sparsebit::cli::test::deploy_command_test
