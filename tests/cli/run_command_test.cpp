#include "cli/run_command.h"
#include "cli/model_files.h"
#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace sparsebit::cli::test::run_command_test {
namespace {

using sparsebit::test::TempDir;
using testing::HasSubstr;
using testing::StartsWith;

class Run : public testing::Test {
 protected:
  void SetUp() override {
    save_onnx_model(model_);
    io::save_npy(x_, at::zeros({2, 3}));
    io::save_npy(ids_, at::tensor({int64_t{5}, int64_t{7}}));
  }

  /// `sparsebit run MODEL ARGS...`
  Result run(const std::vector<std::string>& args) {
    std::vector<const char*> all = {"run"};
    for (const std::string& arg : args) all.push_back(arg.c_str());
    return run_command(all);
  }

  std::string error_of(const std::vector<std::string>& args) {
    const Result result = run(args);
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.out, "");
    return result.err;
  }

  TempDir dir_;
  std::string model_ = dir_ / "m.onnx", x_ = dir_ / "x.npy", ids_ = dir_ / "ids.npy";
};

TEST_F(Run, WritesOutputsUnderSafeNames) {
  const std::string folder = dir_ / "deep/results";
  const Result result = run({model_, "--input", "x=" + x_, "--input", "ids=" + ids_, "-o", folder});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(
      at::equal(io::load_npy(folder + "/y.npy"), at::tensor({1.f, 2.f, 3.f}).expand({2, 3})));
  EXPECT_TRUE(
      at::equal(io::load_npy(folder + "/sum_out.npy"), at::tensor({int64_t{10}, int64_t{14}})));
  EXPECT_THAT(result.out, StartsWith("output   dtype    shape  min  max  mean  file\n"));
  EXPECT_THAT(result.out, HasSubstr("y        float32  2x3    1    3    2     " + folder));
  EXPECT_THAT(result.out, HasSubstr("sum/out  int64    2      10   14   12    " + folder));
}

TEST_F(Run, RandomInputsFollowFromTheSeedAndGivenSizes) {
  const Result one = run({model_, "--random", "--seed", "3", "--input", "ids=" + ids_, "--json"});
  EXPECT_EQ(one.code, 0) << one.err;
  const nlohmann::json outputs = nlohmann::json::parse(one.out)["outputs"];
  EXPECT_EQ(outputs[0]["shape"], nlohmann::json({2, 3}));  // the batch size of ids
  EXPECT_EQ(outputs[1]["max"], 14);
  const auto again = [&](const char* seed) {
    return run({model_, "--random", "--seed", seed, "--input", "ids=" + ids_, "--json"}).out;
  };
  EXPECT_EQ(again("3"), one.out);
  EXPECT_NE(again("4"), one.out);
}

TEST_F(Run, OpenSizesAreOneUnlessGiven) {
  EXPECT_THAT(run({model_, "--random"}).out, HasSubstr("float32  1x3"));
  const Result given = run({model_, "--random", "--shape", "ids=4"});
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_THAT(given.out, HasSubstr("float32  4x3"));
}

TEST_F(Run, TheOnlyInputNeedsNoName) {
  const std::string image = dir_ / "a=b.npy";
  io::save_npy(image, at::zeros({1, 3, 32, 32}));
  EXPECT_EQ(run({"zoo:resnet20", "--input", image}).err, "");
}

TEST_F(Run, TorchScriptFilesNeedAShapeForRandomInputs) {
  const std::string model = dir_ / "tiny";
  save_torchscript_model(model);
  EXPECT_EQ(error_of({model, "--random"}),
            "error: input 'x': " + model +
                " does not state its shape; give it with --shape x=1x3x224x224\n");
  const Result result = run({model, "--random", "--shape", "x=2x3"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("float32  2x3"));
}

TEST_F(Run, WrongInputsAreOneLineErrors) {
  const std::string wrong = dir_ / "wrong.npy";
  io::save_npy(wrong, at::zeros({2, 3}, at::kDouble));
  const std::string three = dir_ / "three.npy";
  io::save_npy(three, at::zeros({3, 3}));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--input", "ids=" + ids_},
       "input 'x' is missing (float32[batch, 3]); give it with --input x=FILE.npy, or use "
       "--random"},
      {{"--input", "idz=" + ids_}, "there is no input 'idz'; did you mean 'ids'?"},
      {{"--input", "quux=" + ids_}, "there is no input 'quux'; the inputs are x, ids"},
      {{"--input", x_}, "--input " + x_ + ": the model has 2 inputs (x, ids); write NAME=FILE"},
      {{"--input", "x=" + wrong},
       "input 'x': expected float32[batch, 3], found float64[2, 3] in " + wrong},
      {{"--input", "x=" + ids_},
       "input 'x': expected float32[batch, 3], found int64[2] in " + ids_},
      {{"--input", "x=" + three, "--input", "ids=" + ids_},
       "input 'ids': 'batch' is 2 here and 3 in another input"},
      {{"--input", "x=/nowhere.npy"}, "/nowhere.npy: cannot read: No such file or directory"},
      {{"--random", "--shape", "x=2x4"}, "--shape x=2x4: the model takes float32[batch, 3]"},
      {{"--random", "--shape", "x=2x3:int8"},
       "--shape x=2x3:int8: the model takes float32[batch, 3]"},
      {{"--random", "--shape", "z=2x3"}, "there is no input 'z'; the inputs are x, ids"},
  };
  for (const auto& [args, message] : cases) {
    std::vector<std::string> all = {model_};
    all.insert(all.end(), args.begin(), args.end());
    EXPECT_EQ(error_of(all), "error: " + message + "\n");
  }
}

TEST_F(Run, GivenFilesTellTheSizesThatDecide) {
  const std::string model = dir_ / "sizes.pt";
  save_size_model(model);
  for (const std::string& input : {x_, "x=" + x_}) {
    const Result result = run({model, "--input", input, "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out)["outputs"][0]["max"], 0);  // relu, not sigmoid
  }
}

TEST_F(Run, TheListOfTheZooIsNoModel) {
  EXPECT_EQ(
      error_of({"zoo:list", "--random"}),
      "error: zoo:list is not a model; 'sparsebit inspect zoo:list' prints the models, such as "
      "zoo:resnet18\n");
}

TEST_F(Run, NotANumberHasNoSign) {
  const at::Tensor nan = at::full({2, 3}, -std::numeric_limits<float>::quiet_NaN());
  io::save_npy(x_, nan);
  const Result result = run({model_, "--input", "x=" + x_, "--input", "ids=" + ids_});
  EXPECT_THAT(result.out, HasSubstr("y        float32  2x3    nan  nan  nan\n"));
}

TEST_F(Run, SizesBeyondTheMachineAreOneLine) {
  const std::string error = error_of({model_, "--random", "--shape", "x=100000000000000000x3"});
  EXPECT_THAT(
      error, StartsWith("error: input 'x': float32[100000000000000000, 3] needs 1.2 EB of memory"));
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 1);
}

TEST_F(Run, UnknownOperatorsAreNamed) {
  const std::string model = dir_ / "custom.onnx";
  save_custom_model(model);
  EXPECT_EQ(error_of({model, "--random"}), "error: " + model +
                                               ": cannot be run, it has unknown operators: foo "
                                               "(onnx.com.acme.Foo)\n");
}

TEST_F(Run, AFolderThatCannotBeMadeIsAnError) {
  write_file_atomically(dir_ / "file", "");
  const std::string folder = dir_ / "file/results";
  EXPECT_EQ(error_of({model_, "--random", "-o", folder}),
            "error: " + folder + ": cannot create the folder: Not a directory\n");
}

}  // namespace
}  // namespace sparsebit::cli::test::run_command_test
