#include "cli/model_files.h"
#include "cli/run_command.h"
#include "core/temp_dir.h"

#include "sparsebit/io/npy.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace sparsebit::cli::prepare_images_test {
namespace {

using test::Result;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A folder with images of several sizes.
class PrepareImages : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }

  Result run(const std::vector<std::string>& args) const {
    std::vector<const char*> pointers;
    for (const std::string& arg : args) pointers.push_back(arg.c_str());
    return test::run_command(pointers);
  }

  nlohmann::json quantize(std::vector<std::string> args) const {
    args.insert(args.begin(), "quantize");
    for (const char* more : {"-o", "", "--json", "-q"}) args.emplace_back(more);
    args[args.size() - 3] = path("m.onnx");
    const Result result = run(args);
    EXPECT_EQ(result.code, 0) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }

  /// Writes a 24-bit bitmap of noise, seeded by the name.
  void write_image(const std::string& name, int32_t height, int32_t width) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream out(path(name), std::ios::binary);
    const int32_t row = (width * 3 + 3) / 4 * 4;
    const auto number = [&](int32_t value, int size) {
      out.write(reinterpret_cast<const char*>(&value), size);
    };
    out << "BM";
    number(54 + row * height, 4), number(0, 4), number(54, 4), number(40, 4), number(width, 4);
    number(height, 4), number(1, 2), number(24, 2), number(0, 4), number(row * height, 4);
    for (int i = 0; i < 4; ++i) number(0, 4);
    uint32_t seed = static_cast<uint32_t>(std::hash<std::string>()(name));
    for (int32_t i = 0; i < row * height; ++i) {
      seed = seed * 1664525 + 1013904223;
      out.put(static_cast<char>(seed >> 24));
    }
  }

  void write_images() const {
    write_image("images/a.bmp", 40, 60);
    write_image("images/b.bmp", 33, 33);
    write_image("images/c.bmp", 50, 20);
  }

  sparsebit::test::TempDir dir_;
};

TEST_F(PrepareImages, WithoutAWordAboutIt) {
  write_images();
  const Result result =
      run({"quantize", "zoo:resnet20", "--data", path("images"), "-o", path("m.onnx")});
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string said =
      "preprocessing: cifar10 (guessed from a 3x32x32 input and 10 classes; --preprocess NAME sets "
      "it)\n";
  EXPECT_THAT(result.err, HasSubstr("warning: " + said));
  EXPECT_THAT(result.out, StartsWith("calibrated with 3 samples for onnxruntime\n" + said));
  // The file stores the preprocessing, and eval uses it.
  std::ofstream(path("labels.tsv")) << "a.bmp\t1\nb.bmp\t2\nc.bmp\t3\n";
  const Result eval = run(
      {"eval", path("m.onnx"), "--data", path("images"), "--labels", path("labels.tsv"), "--json"});
  EXPECT_EQ(eval.code, 0) << eval.err;
  EXPECT_THAT(eval.err, Not(HasSubstr("guessed")));
  const auto json = quantize({"zoo:resnet20", "--data", path("images")});
  EXPECT_TRUE(json["preprocess"]["guessed"].get<bool>());
  EXPECT_THAT(json["warnings"], Contains(HasSubstr("preprocessing: cifar10 (guessed")));
  const auto told = quantize({"zoo:resnet20", "--data", path("images"), "--preprocess", "cifar10"});
  EXPECT_FALSE(told["preprocess"]["guessed"].get<bool>());
  EXPECT_TRUE(told["warnings"].empty());
}

TEST_F(PrepareImages, BytesInTheLayoutOfTensorFlow) {
  write_images();
  test::save_byte_image_model(path("bytes.onnx"));
  const Result result =
      run({"quantize", path("bytes.onnx"), "--data", path("images"), "-o", path("m.onnx")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("guessed from a 24x24x3 input alone; not normalized, because "
                                    "the input is uint8"));
  // A preset adapts to the model's input as well.
  EXPECT_THAT(quantize({path("bytes.onnx"), "--data", path("images"), "--preprocess",
                        "imagenet"})["preprocess"]["text"],
              "imagenet for a 24x24x3 input");
}

TEST_F(PrepareImages, AListAndASingleImage) {
  write_images();
  std::ofstream(path("list.txt")) << "images/a.bmp 1\nimages/c.bmp 9\n";
  EXPECT_EQ(quantize({"zoo:resnet20", "--data", path("list.txt")})["samples"], 2);
  EXPECT_EQ(quantize({"zoo:resnet20", "--data", path("images/a.bmp")})["samples"], 1);
  std::ofstream(path("images/b.bmp"), std::ios::binary) << "BM and no more";
  const Result broken =
      run({"quantize", "zoo:resnet20", "--data", path("images"), "-o", path("m.onnx"), "-q"});
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.err, HasSubstr("b.bmp: not a JPEG, PNG or BMP image"));
}

TEST_F(PrepareImages, AccuracyAtTheEnd) {
  write_images();
  std::ofstream(path("labels.tsv")) << "a.bmp\t1\nb.bmp\t2\nc.bmp\t3\n";
  const auto json =
      quantize({"zoo:resnet20", "--data", path("images"), "--labels", path("labels.tsv")});
  EXPECT_EQ(json["accuracy"]["samples"], 3);
  EXPECT_TRUE(json["accuracy"]["float"].contains("top5"));
  EXPECT_THAT(json["warnings"], Contains(HasSubstr("near chance (10.0 % for 10 classes)")));
  EXPECT_THAT(run({"quantize", "zoo:resnet20", "--data", path("images"), "--labels",
                   path("labels.tsv"), "-o", path("m.onnx")})
                  .out,
              HasSubstr("accuracy on 3 of the 3 calibration samples\n  float      top-1 "));
}

TEST_F(PrepareImages, BlackImagesAreWarnedAbout) {
  io::save_npy(path("black.npy"), at::zeros({4, 3, 32, 32}));
  const auto json = quantize({"zoo:resnet20", "--data", path("black.npy")});
  EXPECT_THAT(json["warnings"], Contains(HasSubstr("input 'x' is zero in all samples")));
  EXPECT_THAT(json["warnings"],
              Contains(HasSubstr("of the float model is the same for all 4 samples")));
}

TEST_F(PrepareImages, RandomNumbersAreNotForDeployment) {
  const Result result = run({"quantize", "zoo:resnet20", "-o", path("m.onnx")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("NOT FOR DEPLOYMENT: calibrated with random numbers\n"
                                     "calibrated with 16 random samples for onnxruntime\n"));
  EXPECT_THAT(result.err, HasSubstr("NOT FOR DEPLOYMENT"));
  std::ifstream in(path("m.onnx"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  EXPECT_THAT(bytes, HasSubstr("NOT FOR DEPLOYMENT: calibrated with random numbers"));
  EXPECT_TRUE(
      quantize({"zoo:resnet20", "--random-data", "--samples", "3"})["random_data"].get<bool>());
  // The same seed gives the same bytes.
  run({"quantize", "zoo:resnet20", "-o", path("n.onnx"), "-q", "--batch-size", "3"});
  std::ifstream again(path("n.onnx"), std::ios::binary);
  EXPECT_EQ(bytes, std::string((std::istreambuf_iterator<char>(again)), {}));
  const Result both = run({"quantize", "zoo:resnet20", "--random-data", "--data", "x", "-o", "y"});
  EXPECT_EQ(both.code, 2);
  EXPECT_EQ(run({"analyze", "zoo:resnet20"}).code, 2);  // analyze needs an explicit --random-data
}

TEST_F(PrepareImages, WeightsAloneNeedNoData) {
  std::ofstream(path("w.yaml")) << "W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}\n"
                                   "A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8, DISABLE: "
                                   "true}}\n";
  const auto json = quantize({"zoo:resnet20", "-c", path("w.yaml")});
  EXPECT_FALSE(json["random_data"].get<bool>());
  EXPECT_FALSE(json.contains("not_for_deployment"));
}

TEST_F(PrepareImages, LayersStayFloatByPattern) {
  const auto json = quantize(
      {"zoo:resnet20", "--exclude", "layer1.*", "--exclude", "linear*", "--exclude", "heads"});
  std::vector<std::string> excluded;
  for (const auto& decision : json["float"])
    if (decision["kind"] == "excluded_by_user") excluded.push_back(decision["node"]);
  EXPECT_THAT(excluded, Contains("layer1_0_conv1"));
  EXPECT_THAT(excluded, Contains(StartsWith("linear")));
  EXPECT_THAT(excluded, Not(Contains("conv1")));
  EXPECT_THAT(json["unused_patterns"], Contains("'heads' matches no layer"));
}

TEST_F(PrepareImages, AShapeWithoutAName) {
  const auto json = quantize({"zoo:resnet20", "--shape", "2x3x40x40"});
  EXPECT_EQ(json["samples"], 16);
  EXPECT_THAT(json["preprocess"]["text"], HasSubstr("3x40x40"));
  test::save_onnx_model(path("two.onnx"));
  const Result two = run({"inspect", path("two.onnx"), "--shape", "1x3"});
  EXPECT_EQ(two.code, 1);
  EXPECT_THAT(two.err, HasSubstr("--shape 1x3: the model has several dynamic inputs (x, ids); "
                                 "write NAME=1x3"));
}

}  // namespace
}  // namespace sparsebit::cli::prepare_images_test
