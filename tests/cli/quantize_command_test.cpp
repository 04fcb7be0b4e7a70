#include "cli/run_command.h"
#include "core/temp_dir.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/sha256.h"
#include "sparsebit/export/quantized_file.h"
#include "sparsebit/io/npy.h"
#include "sparsebit/quant/config/qconfig.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace sparsebit::cli::test::quantize_command_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kConfig = R"(
SCHEDULE: {FUSE_BN: true}
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)";

/// A folder with a config and CIFAR-10 images of noise.
class QuantizeCommand : public testing::Test {
 protected:
  void SetUp() override {
    write("q.yaml", kConfig);
    const at::Tensor bytes =
        at::randint(0, 10, {24, 3073}, at::detail::createCPUGenerator(3), at::kByte);
    std::ofstream(path("data.bin"), std::ios::binary)
        .write(static_cast<const char*>(bytes.data_ptr()), bytes.numel());
  }

  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
  }

  Result quantize(const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {
        "quantize",     "zoo:resnet20", "-c", path("q.yaml"), "--data", path("data.bin"),
        "--preprocess", "cifar10",      "-o", path(out),      "-q"};
    args.insert(args.end(), more.begin(), more.end());
    std::vector<const char*> pointers;
    for (const std::string& arg : args) pointers.push_back(arg.c_str());
    return run_command(pointers);
  }

  std::string bytes_of(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  sparsebit::test::TempDir dir_;
};

TEST_F(QuantizeCommand, WritesAFileThatEvalReads) {
  const Result result = quantize("m.q");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("calibrated with 24 samples for virtual\n"));
  EXPECT_THAT(result.out, HasSubstr("weights, int8 per-channel-symmetric minmax"));
  const std::string file = path("m.q"), data = path("data.bin");
  const Result accuracy = run_command(
      {"eval", file.c_str(), "--data", data.c_str(), "--preprocess", "cifar10", "--json", "-q"});
  EXPECT_EQ(accuracy.code, 0) << accuracy.err;
  const auto json = nlohmann::json::parse(accuracy.out);
  EXPECT_EQ(json["samples"], 24);
  const auto of_float =
      nlohmann::json::parse(run_command({"eval", "zoo:resnet20", "--data", data.c_str(),
                                         "--preprocess", "cifar10", "--json", "-q"})
                                .out);
  EXPECT_NEAR(json["top5"].get<double>(), of_float["top5"].get<double>(), 10);
}

/// The same input gives the same bytes.
TEST_F(QuantizeCommand, BatchesAndThreadsChangeNoByte) {
  ASSERT_EQ(quantize("a.q", {"--batch-size", "1", "--threads", "1"}).code, 0);
  ASSERT_EQ(quantize("b.q", {"--batch-size", "7", "--threads", "2"}).code, 0);
  ASSERT_EQ(quantize("c.q", {"--batch-size", "32"}).code, 0);
  EXPECT_TRUE(bytes_of("a.q") == bytes_of("b.q"));
  EXPECT_TRUE(bytes_of("a.q") == bytes_of("c.q"));
  ASSERT_EQ(quantize("d.q", {"--samples", "8", "--seed", "1"}).code, 0);
  EXPECT_FALSE(bytes_of("a.q") == bytes_of("d.q"));
}

/// Every observer but moving_average, which depends on the order.
TEST_F(QuantizeCommand, TheOrderOfSamplesChangesNoByte) {
  constexpr size_t kImage = 3073;
  const std::string bytes = bytes_of("data.bin").substr(0, 12 * kImage);
  for (const char* observer : {"minmax", "percentile", "mse", "aciq", "kl_histogram"}) {
    SCOPED_TRACE(observer);
    const std::string settings = "{BIT: 8}, OBSERVER: {TYPE: " + std::string(observer) + "}}\n";
    write("q.yaml", "W: {QSCHEME: per-channel-symmetric, QUANTIZER: " + settings +
                        "A: {QSCHEME: per-tensor-affine, QUANTIZER: " + settings);
    write("data.bin", bytes);
    ASSERT_EQ(quantize("a.q").code, 0);
    write("data.bin", bytes.substr(5 * kImage) + bytes.substr(0, 5 * kImage));
    ASSERT_EQ(quantize("b.q", {"--batch-size", "5", "--threads", "2"}).code, 0);
    EXPECT_TRUE(bytes_of("a.q") == bytes_of("b.q"));
  }
}

TEST_F(QuantizeCommand, BatchNormsAreTuned) {
  write("q.yaml", R"(
SCHEDULE: {BN_TUNING: true}
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)");
  const Result result = quantize("a.q", {"--batch-size", "7"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  ASSERT_EQ(quantize("b.q", {"--threads", "2"}).code, 0);
  EXPECT_TRUE(bytes_of("a.q") == bytes_of("b.q"));
  EXPECT_EQ(bytes_of("a.q").find("BatchNorm2d"), std::string::npos);
}

TEST_F(QuantizeCommand, RangesInSequence) {
  ASSERT_EQ(quantize("a.q", {"--sequential", "--batch-size", "7"}).code, 0);
  ASSERT_EQ(quantize("b.q", {"--sequential", "--threads", "2"}).code, 0);
  ASSERT_EQ(quantize("c.q").code, 0);
  EXPECT_TRUE(bytes_of("a.q") == bytes_of("b.q"));
  EXPECT_FALSE(bytes_of("a.q") == bytes_of("c.q"));
}

TEST_F(QuantizeCommand, WrongInputsAreNamed) {
  write("q.yaml", "W: {QSCHEME: per-channel-symetric}\n");
  const Result config = quantize("m.q");
  EXPECT_EQ(config.code, 1);
  EXPECT_THAT(
      config.err,
      HasSubstr("q.yaml:1: W.QSCHEME: unknown scheme 'per-channel-symetric'; did you mean"));
  write("q.yaml", kConfig);
  const Result data = quantize("m.q", {"--preprocess", "imagenet"});
  EXPECT_EQ(data.code, 2);  // --preprocess is given twice
  write("q.yaml", std::string(kConfig) + "  \n");
  EXPECT_EQ(quantize("none/m.q").code, 1);
  EXPECT_FALSE(std::filesystem::exists(path("m.q")));
}

TEST_F(QuantizeCommand, PatternsThatMatchNothingAreReported) {
  write("q.yaml", R"(
W:
  QSCHEME: per-channel-symmetric
  QUANTIZER: {BIT: 8}
  SPECIFIC: [{"conf1": ["QUANTIZER.BIT", 4]}]
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)");
  EXPECT_THAT(quantize("m.q", {"--json"}).out, HasSubstr("'conf1' matches no layer of W"));
}

TEST_F(QuantizeCommand, AnalyzeShowsTheWorstLayerFirst) {
  const std::string config = path("q.yaml"), data = path("data.bin");
  for (const char* how : {"--json", "--accumulated"}) {
    const Result result = run_command({"analyze", "zoo:resnet20", "-c", config.c_str(), "--data",
                                       data.c_str(), "--preprocess", "cifar10", "--json", "-q",
                                       std::string(how) == "--json" ? "--samples=24" : how});
    EXPECT_EQ(result.code, 0) << result.err;
    const auto rows = nlohmann::json::parse(result.out);
    EXPECT_EQ(rows.size(), 21u);
    for (size_t i = 1; i < rows.size(); ++i)
      EXPECT_LE(rows[i - 1]["sqnr"].get<double>(), rows[i]["sqnr"].get<double>());
  }
  EXPECT_THAT(run_command({"analyze", "zoo:resnet20", "-c", config.c_str(), "--data", data.c_str(),
                           "--preprocess", "cifar10", "-q"})
                  .out,
              StartsWith("layer"));
}

// --- data ---------------------------------------------------------------------------------------

TEST_F(QuantizeCommand, DataSaysWhatItSees) {
  const std::string data = path("data.bin");
  EXPECT_EQ(run_command({"data", data.c_str(), "--preprocess", "cifar10"}).out,
            "CIFAR-10 images: 24 samples\n       24  uint8 [3, 32, 32]\nclasses: 10\n");
  const Result wrong = run_command({"data", data.c_str(), "--preprocess", "mnist"});
  EXPECT_EQ(wrong.code, 0);  // one mean and std apply to all channels
  const Result crop = run_command({"data", data.c_str(), "--preprocess", "none", "--json"});
  EXPECT_EQ(nlohmann::json::parse(crop.out)["unreadable"], 0);
  EXPECT_THAT(run_command({"data", "--show-preprocess", "mnist"}).out,
              HasSubstr("mean: [0.1307]\nstd: [0.3081]\n"));
  EXPECT_EQ(run_command({"data"}).code, 2);
  const std::string none = path("none");
  EXPECT_THAT(run_command({"data", none.c_str()}).err, HasSubstr("no such file or folder"));
}

/// What cannot be decoded, or becomes too large, does not hide the others.
TEST_F(QuantizeCommand, DataCountsBadImagesAmongGoodOnes) {
  const auto color = std::filesystem::path(SPARSEBIT_IMAGES) / "color.png";
  std::filesystem::create_directories(path("images"));
  for (const char* name : {"a.png", "z.png"})
    std::filesystem::copy_file(color, path("images/") + name);
  const std::string header("\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR\0\0\x75\x30\0\0\x75\x30\x08\x02\0\0\0",
                           29);
  write_file_atomically(path("images/huge.png"), header + std::string(120'000, '\0'));
  std::filesystem::create_symlink("circle.png", path("images/circle.png"));
  const std::string images = path("images");
  const Result plain = run_command({"data", images.c_str(), "--json"});
  EXPECT_EQ(plain.code, 1);
  const auto json = nlohmann::json::parse(plain.out);
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["unreadable"], 1);
  EXPECT_EQ(json["shapes"]["uint8 [3, 6, 8]"], 2);
  EXPECT_THAT(json["problems"][0].get<std::string>(),
              HasSubstr("huge.png: the image has 30000x30000 pixels; at most"));
  EXPECT_THAT(json["notes"][0].get<std::string>(), HasSubstr("circle.png: skipped"));
  write_file_atomically(path("p.yaml"), "resize: 1000000\n");
  const std::string preprocess = path("p.yaml");
  const Result large = run_command({"data", images.c_str(), "--preprocess", preprocess.c_str()});
  EXPECT_THAT(large.out,
              HasSubstr("3 samples cannot be used:\n  sample 'a.png': an image of 6x8 would "
                        "become one of 1000000x1333333 pixels; at most 268435456"));
}

TEST_F(QuantizeCommand, DataNamesWhatCannotBeUsed) {
  at::Tensor numbers = at::randn({5, 3});
  numbers[3][1] = std::numeric_limits<float>::quiet_NaN();
  io::save_npy(path("nan.npy"), numbers);
  const std::string nan = path("nan.npy"), data = path("data.bin"), labels = path("q.yaml");
  const Result found = run_command({"data", nan.c_str()});
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.out, HasSubstr("1 sample cannot be used"));
  EXPECT_THAT(found.out, HasSubstr("contains NaN or infinity"));
  const Result labelled = run_command({"data", data.c_str(), "--labels", labels.c_str()});
  EXPECT_EQ(labelled.code, 1);
  EXPECT_THAT(labelled.err, HasSubstr("the data contains labels"));
}

/// Models with a fixed batch size.
TEST_F(QuantizeCommand, FixedBatches) {
  const std::string model = path("four.onnx"), file = path("m.q"), data = path("data.bin");
  ASSERT_EQ(
      run_command({"convert", "zoo:resnet20", "-o", model.c_str(), "--shape", "x=4x3x32x32", "-q"})
          .code,
      0);
  const auto run = [&](const char* batch, const char* samples) {
    const std::string config = path("q.yaml");
    return run_command({"quantize", model.c_str(), "-c", config.c_str(), "--data", data.c_str(),
                        "--preprocess", "cifar10", "-o", file.c_str(), "-q", "--batch-size", batch,
                        "--samples", samples});
  };
  const Result first = run("1", "24");
  ASSERT_EQ(first.code, 0) << first.err;
  const std::string bytes = bytes_of("m.q");
  for (const char* batch : {"7", "32"}) {
    ASSERT_EQ(run(batch, "24").code, 0);
    EXPECT_TRUE(bytes_of("m.q") == bytes);
  }
  EXPECT_EQ(run_command({"eval", file.c_str(), "--data", data.c_str(), "--preprocess", "cifar10",
                         "--samples", "8", "-q"})
                .code,
            0);
  EXPECT_THAT(
      run("7", "23").err,
      HasSubstr("a fixed batch size of 4, which does not divide 23 samples; use --samples 20"));
  EXPECT_THAT(run_command({"inspect", file.c_str()}).err,
              HasSubstr("a simulation file of 'sparsebit quantize', for 'sparsebit eval'"));
}

TEST_F(QuantizeCommand, EvalPreparesAsQuantizeDid) {
  ASSERT_EQ(quantize("m.q").code, 0);
  const std::string file = path("m.q"), data = path("data.bin");
  const Result told =
      run_command({"eval", file.c_str(), "--data", data.c_str(), "--preprocess", "cifar10", "-q"});
  const Result untold = run_command({"eval", file.c_str(), "--data", data.c_str(), "-q"});
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_EQ(untold.out, told.out);
}

TEST_F(QuantizeCommand, NothingIsComputedForNothing) {
  const Result same = quantize("q.yaml");
  EXPECT_EQ(same.code, 1);
  EXPECT_THAT(same.err, HasSubstr("an output cannot overwrite an input"));
  EXPECT_EQ(bytes_of("q.yaml"), kConfig);
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(quantize("folder").code, 1);
  io::save_npy(path("small.npy"), at::randn({4, 1, 28, 28}));
  const std::string data = path("small.npy"), model = path("m.onnx"), config = path("q.yaml"),
                    out = path("m.q");
  ASSERT_EQ(
      run_command({"convert", "zoo:resnet20", "-o", model.c_str(), "--dynamic", "x:0=n", "-q"})
          .code,
      0);
  EXPECT_THAT(run_command({"quantize", model.c_str(), "-c", config.c_str(), "--data", data.c_str(),
                           "-o", out.c_str()})
                  .err,
              HasSubstr("input 'x' takes [-1, 3, 32, 32] (-1: any size), but samples have "
                        "shape [1, 28, 28]"));
  write("q.yaml", R"(
SCHEDULE: {BN_TUNING: true}
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)");
  ASSERT_EQ(run_command({"convert", "zoo:resnet20", "-o", model.c_str(), "--fuse", "--dynamic",
                         "x:0=n", "-q"})
                .code,
            0);
  const std::string images = path("data.bin");
  EXPECT_THAT(run_command({"quantize", model.c_str(), "-c", config.c_str(), "--data",
                           images.c_str(), "-o", out.c_str()})
                  .err,
              HasSubstr("the model has no batch norms; remove SCHEDULE.BN_TUNING"));
}

/// A label without a class score is an error, not a wrong prediction.
TEST_F(QuantizeCommand, LabelsHaveToBeClasses) {
  std::string bytes = bytes_of("data.bin");
  const std::string data = path("data.bin");
  bytes[3073] = 9;
  write("data.bin", bytes);
  EXPECT_EQ(run_command({"eval", "zoo:resnet20", "--data", data.c_str(), "-q"}).code, 0);
  const Result none = run_command({"eval", "zoo:yolo", "--data", data.c_str(), "-q"});
  EXPECT_EQ(none.code, 1);
}

TEST_F(QuantizeCommand, WhatIsMeantToBeTrainedIsTold) {
  write("q.yaml", R"(
W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8, TYPE: dorefa}}
A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}
)");
  const std::string config = path("q.yaml"), data = path("data.bin"), out = path("m.q");
  const Result result = run_command({"quantize", "zoo:resnet20", "-c", config.c_str(), "--data",
                                     data.c_str(), "-o", out.c_str(), "--samples", "2"});
  EXPECT_THAT(result.err, HasSubstr("quantizer 'dorefa' needs training (QAT)"));
  EXPECT_THAT(result.err, HasSubstr("preprocessing: cifar10 (guessed from a 3x32x32 input and 10 "
                                    "classes; --preprocess NAME sets it)"));
  EXPECT_THAT(result.out, HasSubstr("fused with the operator before it"));
}

TEST_F(QuantizeCommand, TheFileHoldsItsOrigin) {
  ASSERT_EQ(quantize("m.q", {"--samples", "8", "--seed", "3"}).code, 0);
  const auto origin = nlohmann::json::parse(exports::origin_of_quantized(path("m.q")));
  EXPECT_EQ(origin["config"], kConfig);
  EXPECT_EQ(origin["samples"], 8);
  EXPECT_EQ(origin["seed"], 3);
  EXPECT_THAT(origin["preprocess"].get<std::string>(), HasSubstr("mean: [0.485"));
}

TEST_F(QuantizeCommand, EvalNeedsLabels) {
  io::save_npy(path("x.npy"), at::randn({4, 3, 32, 32}));
  const std::string data = path("x.npy");
  const Result result = run_command({"eval", "zoo:resnet20", "--data", data.c_str()});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("there are no labels; give --labels"));
}

class QuantizeToOnnx : public QuantizeCommand {
 protected:
  Result quantize_by_default(const std::string& out, std::vector<const char*> more = {}) {
    const std::string data = path("data.bin"), file = path(out);
    std::vector<const char*> args = {"quantize",   "zoo:resnet20", "--data",
                                     data.c_str(), "--preprocess", "cifar10",
                                     "-o",         file.c_str(),   "-q"};
    args.insert(args.end(), more.begin(), more.end());
    return run_command(args);
  }
};

TEST_F(QuantizeToOnnx, ModelAndDataAreEnough) {
  const Result result = quantize_by_default("m.onnx");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("calibrated with 24 samples for onnxruntime\n"));
  EXPECT_THAT(result.out, HasSubstr("int8 coverage in onnxruntime: 100.0 % of MACs"));
  EXPECT_THAT(result.out, HasSubstr("layers with the largest error"));
  EXPECT_THAT(bytes_of("m.onnx"), HasSubstr("\"samples\":24"));  // its origin
  const std::string file = path("m.onnx"), data = path("data.bin");
  const Result accuracy = run_command(
      {"eval", file.c_str(), "--data", data.c_str(), "--preprocess", "cifar10", "--json", "-q"});
  EXPECT_EQ(accuracy.code, 0) << accuracy.err;
}

TEST_F(QuantizeToOnnx, TheSameBytesForAnyBatchesAndThreads) {
  ASSERT_EQ(quantize_by_default("a.onnx", {"--batch-size", "7", "--threads", "1"}).code, 0);
  ASSERT_EQ(quantize_by_default("b.onnx", {"--threads", "2"}).code, 0);
  EXPECT_EQ(bytes_of("a.onnx"), bytes_of("b.onnx"));
}

TEST_F(QuantizeToOnnx, DecisionsAsTextAndJson) {
  const std::string text = path("d.txt"), json = path("d.json");
  ASSERT_EQ(quantize_by_default("m.onnx", {"--decisions", text.c_str()}).code, 0);
  EXPECT_THAT(bytes_of("d.txt"), HasSubstr("float: onnxruntime has no integer form of 'pad'"));
  ASSERT_EQ(quantize_by_default("m.onnx", {"--decisions", json.c_str()}).code, 0);
  const auto decisions = nlohmann::json::parse(bytes_of("d.json"));
  EXPECT_EQ(decisions[0]["operator"], "conv2d");
  EXPECT_EQ(decisions[0]["decision"], "quantized");
  EXPECT_EQ(decisions[0]["integers"][0]["part"], "input");
  EXPECT_EQ(decisions[0]["integers"][0]["bits"], 8);
  EXPECT_LE(decisions[0]["integers"][0]["low"], 0);
}

TEST_F(QuantizeToOnnx, StrictLeavesNoOpenEnds) {
  EXPECT_EQ(quantize_by_default("m.onnx", {"--strict"}).code, 0);
  write("q.yaml",
        "BACKEND: onnxruntime\n"
        "W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8},\n"
        "    SPECIFIC: [{\"linear\": [\"QUANTIZER.DISABLE\", true]}]}\n"
        "A: {QSCHEME: per-tensor-affine, QUANTIZER: {BIT: 8}}\n");
  const Result result = quantize("n.onnx", {"--strict"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("--strict: not quantized as requested:\n  linear: "
                                    "W.QUANTIZER.DISABLE"));
  EXPECT_FALSE(std::filesystem::exists(path("n.onnx")));
}

TEST_F(QuantizeToOnnx, CertifiesWhatItWrote) {
  const Result result = quantize_by_default("m.onnx", {"--certify"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("certificate: passed (24 samples"));
  EXPECT_THAT(result.out, HasSubstr("times as fast"));
  const auto certificate = nlohmann::json::parse(bytes_of("m.certificate.json"));
  EXPECT_EQ(certificate["passed"], true);
  EXPECT_EQ(certificate["sha256"]["config"],
            sha256_of(platforms::find_platform("onnxruntime")->config));
}

TEST_F(QuantizeToOnnx, ACertificateLater) {
  ASSERT_EQ(quantize_by_default("m.onnx").code, 0);
  ASSERT_EQ(quantize_by_default("m.quantized").code, 0);
  const std::string file = path("m.onnx"), data = path("data.bin"), out = path("c.json"),
                    simulation = path("m.quantized");
  // The preprocessing is stored in the file.
  const Result result = run_command({"certify", file.c_str(), "--data", data.c_str(), "--against",
                                     "zoo:resnet20", "--simulation", simulation.c_str(),
                                     "--certificate", out.c_str(), "--samples", "6", "-q"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("certificate: passed (6 samples; differences from the "
                                    "simulation"));
  EXPECT_THAT(result.out, HasSubstr("wrote " + out));
  EXPECT_THAT(result.out, HasSubstr("float model"));
}

TEST_F(QuantizeToOnnx, BeyondTheLimitIsExitCodeOne) {
  ASSERT_EQ(quantize_by_default("m.onnx").code, 0);
  const std::string file = path("m.onnx"), data = path("data.bin");
  const Result result = run_command(
      {"certify", file.c_str(), "--data", data.c_str(), "--most-steps-optimized", "0.0001", "-q"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("certificate: FAILED"));
  EXPECT_THAT(result.err, HasSubstr("error: the certificate failed: ONNX Runtime, optimized: "));
  EXPECT_THAT(result.err, HasSubstr("allowed: 0.0001 steps"));
}

TEST_F(QuantizeToOnnx, ACertificateWithoutOnnxRuntimeIsIncomplete) {
  setenv("SPARSEBIT_ONNXRUNTIME", path("nothing").c_str(), 1);
  const Result incomplete = quantize_by_default("m.onnx", {"--certify"});
  const Result asked = quantize_by_default("m.onnx", {"--certify", "--without-runtime"});
  unsetenv("SPARSEBIT_ONNXRUNTIME");
  EXPECT_EQ(incomplete.code, 1);
  EXPECT_THAT(incomplete.out, HasSubstr("certificate: INCOMPLETE (24 samples"));
  EXPECT_THAT(incomplete.err,
              HasSubstr("error: the certificate is incomplete: ONNX Runtime was not found"));
  EXPECT_THAT(incomplete.err, HasSubstr("install_onnxruntime.sh` installs it"));
  EXPECT_EQ(asked.code, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("certificate: passed without ONNX Runtime (24 samples"));
}

TEST_F(QuantizeToOnnx, NoCertificateIsLost) {
  ASSERT_EQ(quantize_by_default("m.onnx", {"--certify", "--without-runtime"}).code, 0);
  ASSERT_EQ(quantize_by_default("m.onnx", {"--certify", "--without-runtime"}).code, 0);
  ASSERT_EQ(quantize_by_default("n.onnx", {"--platform", "tensorrt"}).code, 0);
  const std::string own = path("m.certificate.json"), before = bytes_of("m.certificate.json");
  const std::string m = path("m.onnx"), n = path("n.onnx"), data = path("data.bin");
  const Result other =
      run_command({"certify", n.c_str(), "--data", data.c_str(), "--certificate", own.c_str()});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err,
              HasSubstr(own + ": already the certificate of another file, m.onnx; "
                              "--force overwrites it, --certificate FILE writes to another file"));
  const Result data_of_others =
      run_command({"certify", m.c_str(), "--data", data.c_str(), "--samples", "3", "-q"});
  EXPECT_EQ(data_of_others.code, 1);
  EXPECT_THAT(data_of_others.err,
              HasSubstr(own + ": already a certificate made with other data; "));
  EXPECT_TRUE(bytes_of("m.certificate.json") == before);
  const Result forced = run_command(
      {"certify", m.c_str(), "--data", data.c_str(), "--samples", "3", "-q", "--force"});
  EXPECT_EQ(forced.code, 0) << forced.err;
  EXPECT_FALSE(bytes_of("m.certificate.json") == before);
  const Result no_certificate =
      quantize_by_default("k.onnx", {"--certify", "--certificate", n.c_str()});
  EXPECT_EQ(no_certificate.code, 1);
  EXPECT_THAT(no_certificate.err, HasSubstr(n + ": not a certificate; "));
}

TEST_F(QuantizeToOnnx, WhatCannotBeCertified) {
  const Result simulation = quantize_by_default("m.quantized", {"--certify"});
  EXPECT_EQ(simulation.code, 1);
  EXPECT_THAT(simulation.err, HasSubstr("--certify is for ONNX files: `-o FILE.onnx`"));
  const std::string data = path("data.bin");
  const Result other = run_command({"certify", data.c_str(), "--data", data.c_str()});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("not an ONNX file; only quantized ONNX files can be certified"));
}

TEST_F(QuantizeToOnnx, NoOutputIsAnInputOrAnother) {
  const std::string data = path("data.bin"), out = path("m.onnx");
  const std::string before = bytes_of("data.bin");
  for (const char* option : {"--decisions", "--certificate"}) {
    const Result input = quantize_by_default("m.onnx", {"--certify", option, data.c_str()});
    EXPECT_EQ(input.code, 1);
    EXPECT_THAT(input.err, HasSubstr(data + ": an output cannot overwrite an input"));
    const Result twice = quantize_by_default("m.onnx", {"--certify", option, out.c_str()});
    EXPECT_EQ(twice.code, 1);
    EXPECT_THAT(twice.err, HasSubstr(out + ": two outputs have the same path"));
  }
  EXPECT_TRUE(bytes_of("data.bin") == before);
  ASSERT_EQ(quantize_by_default("m.onnx").code, 0);
  const Result itself =
      run_command({"certify", out.c_str(), "--data", data.c_str(), "--certificate", out.c_str()});
  EXPECT_EQ(itself.code, 1);
  EXPECT_THAT(itself.err, HasSubstr("an output cannot overwrite an input"));
}

TEST_F(QuantizeToOnnx, OptionsThatDoNotGoTogether) {
  const auto error_of = [&](const char* out, std::vector<const char*> options) {
    const Result result = quantize_by_default(out, std::move(options));
    EXPECT_NE(result.code, 0);
    return result.err;
  };
  EXPECT_THAT(error_of("m.onnx", {"--extra-info", "--certify"}),
              HasSubstr("--extra-info excludes"));
  EXPECT_THAT(error_of("m.quantized", {"--format", "qoperator"}), HasSubstr("are for ONNX files"));
  EXPECT_THAT(error_of("m.onnx", {"--format", "qoperator", "--platform", "tensorrt"}),
              HasSubstr("--format qoperator: tensorrt has no integer operators; onnxruntime does"));
  EXPECT_THAT(error_of("m.onnx", {"--most-steps", "2"}), HasSubstr("--certify"));
  EXPECT_THAT(error_of("m.onnx", {"--certify", "--most-steps", "nan"}),
              HasSubstr("'nan' is not a number of at least 0"));
  EXPECT_THAT(error_of("m.onnx", {"--opset", "99"}), HasSubstr("99"));
  EXPECT_FALSE(std::filesystem::exists(path("m.onnx")));
}

TEST_F(QuantizeToOnnx, OtherPlatformsAreCertifiedToo) {
  const Result result =
      quantize_by_default("m.onnx", {"--platform", "tensorrt", "--certify", "--strict"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, testing::Not(HasSubstr("in ONNX Runtime with integers")));
}

TEST_F(QuantizeToOnnx, AccuracyInOnnxRuntime) {
  ASSERT_EQ(quantize_by_default("m.onnx").code, 0);
  const std::string file = path("m.onnx"), data = path("data.bin");
  const Result result =
      run_command({"eval", file.c_str(), "--data", data.c_str(), "--runtime", "onnxruntime", "-q"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("of 24 samples"));
  const Result zoo = run_command({"eval", "zoo:resnet20", "--data", data.c_str(), "--preprocess",
                                  "cifar10", "--runtime", "onnxruntime", "-q"});
  EXPECT_EQ(zoo.code, 1);
  EXPECT_THAT(zoo.err, HasSubstr("ONNX Runtime runs only ONNX files"));
}

TEST_F(QuantizeToOnnx, AsIntegerOperators) {
  ASSERT_EQ(quantize_by_default("m.onnx", {"--format", "qoperator"}).code, 0);
  EXPECT_NE(bytes_of("m.onnx").find("QLinearConv"), std::string::npos);
}

TEST_F(QuantizeToOnnx, APlatformThatIsNotTheConfigs) {
  const Result result = quantize("m.onnx", {"--platform", "tensorrt"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("BACKEND tensorrt needs per-tensor-symmetric"));
  const Result unknown = quantize_by_default("m.onnx", {"--platform", "tpu"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("unknown platform 'tpu'"));
}

TEST(ConfigCommand, ShowsWhatQuantizeDoesByDefault) {
  for (const std::string& platform : platforms::platforms().names()) {
    const Result result = run_command({"config", "--platform", platform.c_str()});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(quant::parse_qconfig(parse_yaml(result.out, "shown")).platform->name, platform);
  }
}

}  // namespace
}  // namespace sparsebit::cli::test::quantize_command_test
