#include "cli/model_files.h"
#include "cli/run_command.h"
#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/io/npy.h"
#include "sparsebit/io/onnx_file.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sparsebit::cli::test::convert_command_test {
namespace {

using sparsebit::test::TempDir;
using testing::HasSubstr;
using testing::MatchesRegex;

class Convert : public testing::Test {
 protected:
  Result convert(std::vector<std::string> args) {
    args.insert(args.begin(), "convert");
    std::vector<const char*> all;
    for (const std::string& arg : args) all.push_back(arg.c_str());
    return run_command(all);
  }

  /// The output of a model on one and the same random input.
  at::Tensor result_of(const std::string& model, const std::string& output) {
    const std::string folder = dir_ / "out";
    const Result result =
        run_command({"run", model.c_str(), "--input", x_.c_str(), "-o", folder.c_str()});
    EXPECT_EQ(result.code, 0) << result.err;
    return io::load_npy(folder + "/" + output + ".npy");
  }

  TempDir dir_;
  std::string out_ = dir_ / "out.onnx", x_ = dir_ / "x.npy";
};

TEST_F(Convert, ZooModelsComputeTheSame) {
  const Result result = convert({"zoo:resnet20", "-o", out_, "--dynamic", "x:0=batch"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, MatchesRegex(".*out.onnx: [0-9]+ nodes, 0.27 M parameters, opset 13, "
                                       "1.[0-9]+ MB\n"));
  io::save_npy(x_, at::randn({2, 3, 32, 32}));
  EXPECT_TRUE(
      at::allclose(result_of("zoo:resnet20", "linear"), result_of(out_, "linear"), 1e-4, 1e-5));
}

TEST_F(Convert, TorchScriptNeedsShapes) {
  const std::string model = dir_ / "tiny.pt";
  save_torchscript_model(model);
  const Result without = convert({model, "-o", out_});
  EXPECT_EQ(without.code, 1);
  EXPECT_EQ(without.err, "error: input 'x': " + model +
                             " does not tell its shape; give it with --shape x=1x3x224x224\n");
  EXPECT_FALSE(std::filesystem::exists(out_));
  const Result with = convert({model, "-o", out_, "--shape", "x=2x3"});
  EXPECT_EQ(with.code, 0) << with.err;
  io::save_npy(x_, at::randn({2, 3}));
  const onnx::ModelProto written = io::load_onnx(out_);
  const std::string output = written.graph().output(0).name();
  EXPECT_TRUE(at::equal(result_of(out_, output), at::relu(io::load_npy(x_)) + 1));
}

TEST_F(Convert, OnnxKeepsItsNamesAndOpenSizes) {
  const std::string model = dir_ / "m.onnx";
  save_onnx_model(model);
  const Result result = convert({model, "-o", out_, "--opset", "17", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  const nlohmann::json report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["opset"], 17);
  EXPECT_EQ(report["nodes"], 2);
  EXPECT_EQ(report["carried"], nlohmann::json::array());
  EXPECT_EQ(report["bytes"], std::filesystem::file_size(out_));
  const onnx::ModelProto written = io::load_onnx(out_);
  EXPECT_EQ(written.graph().input(1).name(), "ids");
  EXPECT_EQ(written.graph().output(1).name(), "sum/out");
  EXPECT_EQ(written.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
}

TEST_F(Convert, GivenShapesFixOpenSizes) {
  const std::string model = dir_ / "m.onnx";
  save_onnx_model(model);
  EXPECT_EQ(convert({model, "-o", out_, "--shape", "x=5x3"}).err, "");
  const onnx::ModelProto written = io::load_onnx(out_);
  for (const auto& input : written.graph().input()) {
    EXPECT_EQ(input.type().tensor_type().shape().dim(0).dim_value(), 5);
  }
}

TEST_F(Convert, UnknownOperatorsAreCarriedAndListed) {
  const std::string model = dir_ / "custom.onnx";
  save_custom_model(model);
  const Result result = convert({model, "-o", out_});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("carried unchanged, because not known here: foo (onnx.com.acme.Foo)\n"));
  EXPECT_EQ(io::load_onnx(out_).graph().node(0).domain(), "com.acme");
}

TEST_F(Convert, TheSameModelGivesTheSameBytes) {
  const std::string second = dir_ / "second.onnx";
  convert({"zoo:resnet20", "-o", out_});
  convert({"zoo:resnet20", "-o", second});
  EXPECT_EQ(read_file(out_), read_file(second));
}

TEST_F(Convert, FailuresLeaveNothingBehind) {
  const std::string model = dir_ / "m.onnx";
  save_onnx_model(model);
  const std::string before = read_file(model);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{model, "-o", model},
       model + ": this belongs to the model to convert; write to another file"},
      {{model, "-o", out_, "--dynamic", "y:0=n"}, "there is no input 'y'; the inputs are x, ids"},
      {{model, "-o", out_, "--dynamic", "x=n"},
       "--dynamic x=n: expected NAME:DIMENSION=SYMBOL, such as x:0=batch"},
      {{model, "-o", out_, "--dynamic", "x:a=n"},
       "--dynamic x:a=n: expected NAME:DIMENSION=SYMBOL, such as x:0=batch"},
      {{"zoo:resnet20", "-o", "/nowhere/out.onnx"},
       "/nowhere/out.onnx: cannot create a file in '/nowhere': No such file or directory"},
  };
  for (const auto& [args, message] : cases) {
    const Result result = convert(args);
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.err, "error: " + message + "\n");
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(convert({"zoo:resnet20", "-o", out_, "--opset", "10"}).code, 2);
  EXPECT_EQ(read_file(model), before);
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_EQ(entry.path(), model);
  }
}

}  // namespace
}  // namespace sparsebit::cli::test::convert_command_test
