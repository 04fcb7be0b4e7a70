#include "easy/quantized_output.h"

#include "core/temp_dir.h"
#include "sparsebit/core/error.h"
#include "sparsebit/platforms/platform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::easy::test::quantized_output_test {
namespace {

/// The error of check_output(); "" if there is none.
std::string problem(OutputOptions options, const char* platform = "onnxruntime") {
  const sparsebit::test::TempDir dir;
  options.output = dir / options.output;
  try {
    check_output(options, {}, *platforms::find_platform(platform));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(QuantizedOutput, OnnxFilesHaveTheExtension) {
  EXPECT_TRUE(is_onnx("a/b.onnx"));
  EXPECT_FALSE(is_onnx("b.onnx.safetensors"));
  EXPECT_FALSE(is_onnx("b"));
}

TEST(QuantizedOutput, OptionsThatGoTogether) {
  EXPECT_EQ(problem({.output = "a.onnx", .format = "qoperator", .external_data = true}), "");
  EXPECT_EQ(problem({.output = "a.onnx", .certify = true}), "");
  EXPECT_EQ(problem({.output = "a.sim"}), "");
}

TEST(QuantizedOutput, OptionsThatDoNotGoTogether) {
  EXPECT_EQ(problem({.output = "a.sim", .certify = true}),
            "--certify is for ONNX files: `-o FILE.onnx`");
  const std::string only_onnx =
      "--format, --extra-info and --external-data are for ONNX files: `-o FILE.onnx`";
  EXPECT_EQ(problem({.output = "a.sim", .format = "qoperator"}), only_onnx);
  EXPECT_EQ(problem({.output = "a.sim", .extra_info = true}), only_onnx);
  EXPECT_EQ(problem({.output = "a.sim", .external_data = true}), only_onnx);
  EXPECT_EQ(problem({.output = "a.onnx", .extra_info = true, .certify = true}),
            "--extra-info excludes --certify and --format qoperator: ONNX Runtime refuses such "
            "files");
  EXPECT_EQ(problem({.output = "a.onnx", .format = "qoperator"}, "tensorrt"),
            "--format qoperator: tensorrt has no integer operators; onnxruntime does");
}

}  // namespace
}  // namespace sparsebit::easy::test::quantized_output_test
