#include "cli/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Through the command: what CLI11 throws depends on what was declared.

namespace sparsebit::cli::test::parse_error_test {
namespace {

struct WrongUse {
  std::vector<const char*> arguments;
  const char* message;
};

TEST(ParseError, SaysWhatIsWrongAndWhatWasMeant) {
  const std::vector<WrongUse> cases = {
      {{}, "a command is missing, such as inspect or quantize"},
      // A typing error counts more than the option that is missing.
      {{"quantize", "m", "--preproces", "imagenet"},
       "unknown option '--preproces'; did you mean '--preprocess'?"},
      {{"quantize", "m", "--preproces=imagenet"},
       "unknown option '--preproces'; did you mean '--preprocess'?"},
      {{"quantize", "m", "-o", "o", "--sample", "3"},
       "unknown option '--sample'; did you mean '--samples'?"},
      {{"inspect", "m", "-x"}, "unknown option '-x'"},
      {{"inspect", "m", "--zzzzzzzzz"}, "unknown option '--zzzzzzzzz'"},
      {{"inspect", "m", "b", "c"}, "unexpected argument 'b'"},
      {{"inspect"}, "the argument model is required"},
      {{"quantize", "m"}, "--output is required"},
      {{"inspect", "m", "--format", "tabel"},
       "--format: unknown value 'tabel'; did you mean 'table'?"},
      {{"inspect", "m", "--format", "xyzzy"},
       "--format: unknown value 'xyzzy'; expected fx, json, mermaid or table"},
      {{"quantize", "m", "-o", "o", "--format", "qdqq"},
       "--format: unknown value 'qdqq'; did you mean 'qdq'?"},
      {{"eval", "m", "--data", "d", "--engine", "x"}, "unknown option '--engine'"},
      {{"inspect", "m", "--seed"}, "--seed: a value is missing"},
      {{"quantize", "m", "--data", "a", "--data", "b"}, "--data: expected one value, found 2"},
      {{"quantize", "m", "-o", "o", "--data", "a", "--random-data"},
       "--data cannot go with --random-data"},
      {{"quantize", "m", "-o", "o", "--platform", "ort"},
       "--platform: unknown platform 'ort'; did you mean 'onnxruntime'?"},
      {{"quantize", "m", "-o", "o", "--platform", "TRT"},
       "--platform: unknown platform 'TRT'; did you mean 'tensorrt'?"},
      {{"quantize", "m", "-o", "o", "--platform", "zzzzzzzzzz"},
       "--platform: unknown platform 'zzzzzzzzzz'; `sparsebit platforms` lists them"},
      {{"platforms", "--show", "openvno"},
       "--show: unknown platform 'openvno'; did you mean 'openvino'?"},
      {{"quantize", "m", "-o", "o", "--random-data", "--preprocess", "imagnet"},
       "--preprocess: unknown preprocessing 'imagnet'; did you mean 'imagenet'?"},
      {{"data", "d", "--preprocess", "imagnet"},
       "--preprocess: unknown preprocessing 'imagnet'; did you mean 'imagenet'?"},
      {{"data", "--show-preprocess", "imagnet"},
       "--show-preprocess: unknown preprocessing 'imagnet'; did you mean 'imagenet'?"},
      {{"deploy", "m", "-o", "o", "--random-data", "--format", "onnx_clea"},
       "--format: unknown format 'onnx_clea'; did you mean"},
      {{"inspect", "m", "--no\x1b[31m"}, "unknown option '--no\\x1b[31m'"},
  };
  for (const auto& [arguments, message] : cases) {
    const Result result = run_command(arguments);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, testing::StartsWith("error: " + std::string(message)));
    EXPECT_THAT(result.err, testing::EndsWith("\nRun with --help for more information.\n"));
  }
}

TEST(ParseError, NumbersAreNamedAsSuch) {
  const Result result = run_command({"eval", "m", "--data", "d", "--nms-iou", "many"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, testing::StartsWith("error: --nms-iou: "));
  EXPECT_THAT(result.err, testing::Not(testing::HasSubstr("Could not convert")));
}

TEST(ParseError, FilesOfPreprocessingMayBeMissing) {
  const Result result = run_command({"data", ".", "--preprocess", "nowhere.yaml"});
  EXPECT_EQ(result.code, 1);
}

}  // namespace
}  // namespace sparsebit::cli::test::parse_error_test
