#include "sparsebit/easy/easy.h"

#include "cli/run_command.h"
#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/log.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace sparsebit::easy::test::easy_test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;
using testing::ThrowsMessage;

/// A folder with 24 CIFAR-10 images of noise. Warnings go nowhere.
class Easy : public testing::Test {
 protected:
  void SetUp() override {
    const at::Tensor bytes =
        at::randint(0, 10, {24, 3073}, at::detail::createCPUGenerator(3), at::kByte);
    std::ofstream(data_, std::ios::binary)
        .write(static_cast<const char*>(bytes.data_ptr()), bytes.numel());
    set_log_sink([](LogLevel, std::string_view) {});
  }
  void TearDown() override { set_log_sink({}); }

  QuantizedFile quantize(const QuantizeFileOptions& options = {}) {
    return quantize_file("zoo:resnet20", data_, output_, options);
  }

  sparsebit::test::TempDir dir_;
  std::string data_ = dir_ / "data.bin", output_ = dir_ / "net.int8.onnx";
};

TEST_F(Easy, WritesTheFileThatTheCommandWrites) {
  const std::string other = dir_ / "other.int8.onnx";
  const auto command = cli::test::run_command(
      {"quantize", "zoo:resnet20", "--data", data_.c_str(), "--preprocess", "cifar10", "--samples",
       "16", "--seed", "5", "--exclude", "linear", "-o", other.c_str(), "-q"});
  ASSERT_EQ(command.code, 0) << command.err;
  quantize({.preprocess = "cifar10", .exclude = {"linear"}, .samples = 16, .seed = 5});
  EXPECT_TRUE(read_file(output_) == read_file(other));
}

TEST_F(Easy, TellsWhatItDid) {
  const QuantizedFile made = quantize();
  EXPECT_EQ(made.file, output_);
  EXPECT_EQ(made.bytes, std::filesystem::file_size(output_));
  EXPECT_EQ(made.bytes_before, 0);  // a model of the zoo
  EXPECT_EQ(made.platform, "onnxruntime");
  EXPECT_EQ(made.samples, 24);
  EXPECT_FALSE(made.random_data);
  EXPECT_EQ(made.int8_macs, 1);
  EXPECT_LT(made.int8_nodes, 1);
  ASSERT_FALSE(made.float_nodes.empty());  // what cuts and pads shortcuts
  EXPECT_EQ(made.float_nodes[0].macs, 0);
  EXPECT_TRUE(made.preprocess_guessed);
  EXPECT_THAT(made.preprocess, HasSubstr("cifar10 (guessed from"));
  EXPECT_THAT(made.warnings, Contains(HasSubstr("guessed")));
  EXPECT_FALSE(made.certificate);
}

TEST_F(Easy, FloatNodesHaveReasonsAndUnusedPatternsAreWarnings) {
  const QuantizedFile made = quantize({.preprocess = "cifar10", .exclude = {"linear", "nothing*"}});
  EXPECT_FALSE(made.preprocess_guessed);
  EXPECT_EQ(made.preprocess, "cifar10");
  EXPECT_LT(made.int8_macs, 1);
  ASSERT_FALSE(made.float_nodes.empty());
  EXPECT_EQ(made.float_nodes[0].name, "linear");
  EXPECT_EQ(made.float_nodes[0].op, "linear");
  EXPECT_GT(made.float_nodes[0].macs, 0);
  EXPECT_THAT(made.float_nodes[0].reason, HasSubstr("excluded"));
  EXPECT_THAT(made.warnings, Contains(HasSubstr("nothing*")));
}

TEST_F(Easy, WithoutDataTheFileIsNotForDeployment) {
  const QuantizedFile made = quantize_file("zoo:resnet20", "", output_, {.samples = 2});
  EXPECT_TRUE(made.random_data);
  EXPECT_EQ(made.samples, 2);
  EXPECT_THAT(made.warnings, Contains(HasSubstr("NOT FOR DEPLOYMENT")));
}

TEST_F(Easy, TakesAPlatformAndAConfig) {
  std::ofstream(dir_ / "q.yaml") << "BACKEND: tensorrt\n"
                                    "W: {QSCHEME: per-channel-symmetric, QUANTIZER: {BIT: 8}}\n"
                                    "A: {QSCHEME: per-tensor-symmetric, QUANTIZER: {BIT: 8}}\n";
  EXPECT_EQ(quantize({.platform = "openvino"}).platform, "openvino");
  EXPECT_EQ(quantize({.config = dir_ / "q.yaml"}).platform, "tensorrt");
  EXPECT_THAT([&] { quantize({.platform = "tensort"}); },
              ThrowsMessage<Error>(HasSubstr("tensorrt")));
}

TEST_F(Easy, CertifiesTheFile) {
  const QuantizedFile made =
      quantize({.preprocess = "cifar10", .certify = true, .certify_samples = 4});
  ASSERT_TRUE(made.certificate);
  EXPECT_EQ(made.certificate->verdict, "passed") << made.certificate->problem;
  EXPECT_TRUE(std::filesystem::exists(made.certificate->file));
  EXPECT_THAT(made.certificate->quality, testing::AnyOf("good", "degraded", "useless"));
  EXPECT_GT(made.certificate->snr, 0);
  EXPECT_TRUE(made.certificate->speedup);
}

TEST_F(Easy, ACertificateOfAnotherFileIsOverwrittenWithForceOnly) {
  const std::string certificate = dir_ / "other.certificate.json";
  std::ofstream(certificate) << R"({"file": "other.onnx", "comparisons": [], "sha256": {}})";
  QuantizeFileOptions options{
      .preprocess = "cifar10", .certify = true, .certify_samples = 4, .certificate = certificate};
  EXPECT_THAT([&] { quantize(options); },
              ThrowsMessage<Error>(HasSubstr("already the certificate of another file")));
  options.force = true;
  EXPECT_EQ(quantize(options).certificate->file, certificate);
  EXPECT_THAT(read_file(certificate), HasSubstr("net.int8.onnx"));
}

TEST_F(Easy, ExceptionsOfLibrariesBecomeErrors) {
  const std::string long_name(5000, 'x');  // std::filesystem throws for it
  EXPECT_THROW(quantize_file(long_name, data_, output_), Error);
}

TEST_F(Easy, ShowsProgressToACallbackOnly) {
  std::vector<std::string> steps;
  std::vector<int64_t> done, totals;
  testing::internal::CaptureStderr();
  quantize({.preprocess = "cifar10",
            .on_progress = [&](const std::string& step, int64_t now, int64_t total) {
              steps.push_back(step);
              done.push_back(now);
              totals.push_back(total);
            }});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(steps, Each("calibrating"));
  EXPECT_THAT(done, ElementsAre(8, 16, 24));
  EXPECT_THAT(totals, Each(24));
}

TEST_F(Easy, ErrorsLeaveTheOutputAsItWas) {
  std::ofstream(output_) << "mine";
  const auto stop = [](const std::string&, int64_t, int64_t) { throw std::runtime_error("stop"); };
  EXPECT_THAT([&] { quantize({.on_progress = stop}); }, ThrowsMessage<std::runtime_error>("stop"));
  EXPECT_THAT([&] { quantize_file(dir_ / "none.onnx", data_, output_); },
              Throws<Error>(Property(&Error::kind, ErrorKind::Io)));
  EXPECT_THAT([&] { quantize({.samples = -1}); },
              ThrowsMessage<Error>(HasSubstr("must not be negative; found -1, 32 and 0")));
  EXPECT_EQ(read_file(output_), "mine");
}

TEST_F(Easy, RestoresTheNumberOfThreads) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  int during = 0;
  const auto see = [&](const std::string&, int64_t, int64_t) { during = at::get_num_threads(); };
  quantize({.preprocess = "cifar10", .threads = 1, .on_progress = see});
  EXPECT_EQ(during, 1);
  EXPECT_EQ(at::get_num_threads(), 2);
  at::set_num_threads(before);
}

}  // namespace
}  // namespace sparsebit::easy::test::easy_test
