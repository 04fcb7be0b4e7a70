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
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class Convert : public testing::Test {
 protected:
  Result convert(std::vector<std::string> args) {
    args.insert(args.begin(), "convert");
    std::vector<const char*> all;
    for (const std::string& arg : args) all.push_back(arg.c_str());
    return run_command(all);
  }

  /// The output of a model on the input `x_`.
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
                             " does not state its shape; give it with --shape x=1x3x224x224\n");
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

/// The file has the same output names as `run` and `inspect` show.
TEST_F(Convert, OutputsKeepTheirNames) {
  const std::string model = dir_ / "dict.pt";
  save_dict_model(model);
  const std::vector<std::string> expected = {"logits", "x_1"};
  EXPECT_EQ(convert({model, "-o", out_, "--shape", "x=2x3"}).err, "");
  const onnx::ModelProto file = io::load_onnx(out_);
  std::vector<std::string> written;
  for (const auto& output : file.graph().output()) written.push_back(output.name());
  EXPECT_EQ(written, expected);
  for (const onnx::NodeProto& node : file.graph().node()) EXPECT_NE(node.op_type(), "Identity");
  for (const std::vector<const char*>& args : std::vector<std::vector<const char*>>{
           {"run", model.c_str(), "--random", "--shape", "x=2x3", "--json"},
           {"run", out_.c_str(), "--random", "--json"},
           {"inspect", model.c_str(), "--json"},
           {"inspect", model.c_str(), "--shape", "x=2x3", "--json"},
           {"inspect", out_.c_str(), "--json"}}) {
    const nlohmann::json json = nlohmann::json::parse(run_command(args).out);
    std::vector<std::string> names;
    for (const nlohmann::json& output : json["outputs"]) names.push_back(output["name"]);
    EXPECT_EQ(names, expected) << args[0];
  }
}

TEST_F(Convert, ZooModelsKeepTheirOutputsNames) {
  for (const char* model : {"zoo:resnet20", "zoo:yolo"}) {
    const auto names = [](const std::string& source) {
      std::vector<std::string> all;
      const Result result = run_command({"run", source.c_str(), "--random", "--json"});
      EXPECT_EQ(result.code, 0) << result.err;
      const nlohmann::json json = nlohmann::json::parse(result.out);
      for (const nlohmann::json& output : json["outputs"]) all.push_back(output["name"]);
      return all;
    };
    EXPECT_EQ(convert({model, "-o", out_}).err, "");
    EXPECT_EQ(names(out_), names(model)) << model;
  }
}

TEST_F(Convert, TheGraphKeepsItsName) {
  const std::string model = dir_ / "m.onnx";
  save_onnx_model(model);
  EXPECT_EQ(convert({model, "-o", out_}).err, "");
  EXPECT_EQ(io::load_onnx(out_).graph().name(), "g");
}

TEST_F(Convert, ASizeThatCannotStayOpenIsNamed) {
  const std::string model = dir_ / "fixed.pt";
  save_fixed_size_model(model);
  EXPECT_EQ(convert({model, "-o", out_, "--shape", "x=2x6", "--dynamic", "x:0=n"}).err, "");
  const Result result = convert(
      {model, "-o", out_, "--shape", "x=2x6", "--dynamic", "x:0=n", "--dynamic", "x:1=width"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, MatchesRegex("error: --dynamic x:1=width: 'width' cannot be dynamic, "
                                       "because the model fails with another size: "
                                       "[^\n]+\n"));
}

TEST_F(Convert, OpenSizesThatDecideAreReported) {
  const std::string model = dir_ / "sizes.pt";
  save_size_model(model);
  EXPECT_EQ(convert({model, "-o", out_, "--shape", "x=2x3"}).err, "");
  const Result open = convert({model, "-o", out_, "--shape", "x=2x3", "--dynamic", "x:0=n"});
  EXPECT_EQ(open.code, 0);
  EXPECT_EQ(open.err, "warning: " + model +
                          " has control flow that depends on input sizes; the ONNX file keeps the "
                          "branches taken for --shape, and is wrong for dynamic sizes that take "
                          "others\n");
}

TEST_F(Convert, SizesBeyondTheMachineAreOneLine) {
  const std::string model = dir_ / "tiny.pt";
  save_torchscript_model(model);
  const Result result = convert({model, "-o", out_, "--shape", "x=1000000x1000000x1000"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(
      result.err,
      MatchesRegex(
          "error: input 'x': float32\\[1000000, 1000000, 1000\\] needs 4 PB of memory; "
          "the limit is [0-9.e+]+ GB(, and .* are in use)?; --max-memory or SPARSEBIT_MAX_MEMORY "
          "raises it\n"));
}

TEST_F(Convert, UnknownOperatorsAreCarriedAndListed) {
  const std::string model = dir_ / "custom.onnx";
  save_custom_model(model);
  const Result result = convert({model, "-o", out_});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("unknown operators, copied unchanged: foo (onnx.com.acme.Foo)\n"));
  EXPECT_EQ(io::load_onnx(out_).graph().node(0).domain(), "com.acme");
}

TEST_F(Convert, FormsThatAreNotUnderstoodAreCarriedAndListed) {
  const std::string model = dir_ / "odd.onnx";
  save_odd_model(model);
  const Result result = convert({model, "-o", out_});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      HasSubstr(
          "copied unchanged: resize_1 (onnx.Resize: the attribute 'sharpness' is not known)\n"));
  const Result run = run_command({"run", model.c_str(), "--random"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("it has unknown operators: resize_1 (onnx.Resize: the "
                                 "attribute 'sharpness' is not known)\n"));
}

TEST_F(Convert, ExamplesOfInputsHelpWhereMadeUpNumbersDoNot) {
  const std::string model = dir_ / "reshape.onnx", shape = dir_ / "shape.npy";
  save_reshape_model(model);
  const Result without = convert({model, "-o", out_});
  EXPECT_EQ(without.code, 1);
  EXPECT_THAT(without.err, HasSubstr("give example inputs (--input)"));
  io::save_npy(shape, at::tensor({2, 3}, at::kLong));
  const Result with = convert({model, "-o", out_, "--input", "shape=" + shape});
  EXPECT_EQ(with.code, 0) << with.err;
}

TEST_F(Convert, NamesOfFilesNeedNotBeText) {
  const Result result =
      convert({"zoo:resnet20", "-o", std::string(dir_ / "a") + "\xff.onnx", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
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
      {{model, "-o", model}, model + ": part of the model to convert; write to another file"},
      {{model, "-o", out_, "--dynamic", "y:0=n"}, "there is no input 'y'; the inputs are x, ids"},
      {{model, "-o", out_, "--dynamic", "x:2=n"},
       "--dynamic x:2=n: 'x' has 2 dimensions, counted from 0"},
      {{"zoo:resnet20", "-o", out_, "--dynamic", "x:0=n", "--dynamic", "x:2=n"},
       "--dynamic x:2=n: 'n' is 32 here and 1 at x:0; dimensions with the same symbol must be "
       "equal"},
      {{"zoo:list", "-o", out_},
       "zoo:list is not a model; 'sparsebit inspect zoo:list' prints the models, such as "
       "zoo:resnet18"},
      {{"zoo:resnet20", "-o", "/nowhere/out.onnx"},
       "/nowhere: cannot write to this folder: No such file or directory"},
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

TEST(ConvertPasses, TheFileIsTheSameNetworkInFewerSteps) {
  const sparsebit::test::TempDir dir;
  const std::string plain = dir / "plain.onnx", fused = dir / "fused.onnx";
  const Result result = run_command({"convert", "zoo:resnet20", "-o", fused.c_str(), "--simplify",
                                     "--fuse", "--dynamic", "x:0=batch"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\npasses: "));
  EXPECT_THAT(run_command({"inspect", fused.c_str()}).out,
              AllOf(HasSubstr("float32[batch, 3, 32, 32]"), Not(HasSubstr("BatchNorm"))));
  const auto mean_of = [](const std::string& path) {
    const Result run =
        run_command({"run", path.c_str(), "--random", "--json", "--shape", "x=2x3x32x32"});
    return nlohmann::json::parse(run.out)["outputs"][0]["mean"].get<double>();
  };
  const Result of_plain =
      run_command({"convert", "zoo:resnet20", "-o", plain.c_str(), "--dynamic", "x:0=batch"});
  EXPECT_EQ(of_plain.code, 0) << of_plain.err;
  EXPECT_NEAR(mean_of(plain), mean_of(fused), 1e-5);
}

}  // namespace
}  // namespace sparsebit::cli::test::convert_command_test
