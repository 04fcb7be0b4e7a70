#include "export/onnxruntime/onnxruntime_answer.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace sparsebit::exports::onnxruntime_answer_test {
namespace {

using testing::ElementsAre;

/// What is unexpected in an answer; "" when nothing is.
std::string unexpected(const std::function<void()>& read) {
  const std::string rule = "invalid reply from ONNX Runtime: ";
  try {
    read();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Io);
    EXPECT_THAT(e.what(), testing::StartsWith(rule));
    return std::string(e.what()).substr(rule.size());
  }
  return "";
}

std::string unexpected_line(const std::string& line) {
  return unexpected([&] { OrtAnswer answer(line); });
}

std::string unexpected_tensors(const std::string& tensors, size_t count = 1) {
  const OrtAnswer answer("{\"tensors\": " + tensors + "}");
  return unexpected([&] { answer.tensors("tensors", count); });
}

TEST(OrtAnswer, HoldsWhatIsAsked) {
  const OrtAnswer answer(
      R"({"ok": true, "n": 3, "name": "y", "names": ["a", "b"], "ms": [[1, 2.5], [3, 4]],
          "tensors": [{"type": "float16", "shape": [2, 3], "bytes": 12},
                      {"type": "int64", "shape": [], "bytes": 8},
                      {"type": "int8", "shape": [3, 0], "bytes": 0},
                      {"type": "complex64", "shape": [1], "bytes": 8}]})");
  EXPECT_TRUE(answer.flag("ok"));
  EXPECT_EQ(answer.number("n"), 3);
  EXPECT_EQ(answer.text("name"), "y");
  EXPECT_THAT(answer.texts("names"), ElementsAre("a", "b"));
  EXPECT_THAT(answer.table("ms", 2, 2), ElementsAre(ElementsAre(1, 2.5), ElementsAre(3, 4)));
  const std::vector<OrtTensor> tensors = answer.tensors("tensors", 4);
  EXPECT_EQ(tensors[0].dtype, at::kHalf);
  EXPECT_THAT(tensors[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(tensors[1].bytes, 8);
  EXPECT_EQ(tensors[2].bytes, 0);
  EXPECT_EQ(tensors[3].dtype, std::nullopt);
}

TEST(OrtAnswer, TypesHaveNames) {
  EXPECT_EQ(ort_type(at::kFloat), "float32");
  EXPECT_EQ(ort_type(at::kBFloat16), std::nullopt);
}

TEST(OrtAnswer, InvalidJsonIsAnError) {
  EXPECT_EQ(unexpected_line("no\x1b[31m"), "'no\\x1b[31m' is not JSON");
  EXPECT_EQ(unexpected_line(""), "'' is not JSON");
  EXPECT_EQ(unexpected_line("{\"n\": 1e999}"), "'{\"n\": 1e999}' is not JSON");
  EXPECT_EQ(unexpected_line("{\"n\": \"\xff\"}"), "'{\"n\": \"\\xff\"}' is not JSON");
  EXPECT_EQ(unexpected_line("[1]"), "'[1]' is not a JSON object");
  EXPECT_EQ(unexpected_line(std::string(200, 'x')),
            "'" + std::string(100, 'x') + "...' is not JSON");
}

TEST(OrtAnswer, JsonThatTakesMuchMemoryIsUnexpected) {
  const std::string rule = "JSON with more than 8 levels or 1000000 values";
  EXPECT_EQ(unexpected_line(std::string(1'000'000, '[')), rule);
  std::string numbers = "{\"a\": [0";
  for (int i = 0; i < 1'000'000; ++i) numbers += ",0";
  EXPECT_EQ(unexpected_line(numbers + "]}"), rule);
}

TEST(OrtAnswer, MissingKeysAndOtherTypesAreUnexpected) {
  const OrtAnswer answer(R"({"text": "x", "number": 1.5, "list": [1, "a"], "negative": -1,
                             "large": 3000000000, "huge": 18446744073709551615})");
  EXPECT_EQ(unexpected([&] { answer.flag("ok"); }), "an answer without 'ok'");
  EXPECT_EQ(unexpected([&] { answer.flag("text"); }), "'text' is neither true nor false");
  EXPECT_EQ(unexpected([&] { answer.text("number"); }), "'number' is not a string");
  EXPECT_EQ(unexpected([&] { answer.texts("list"); }), "'list' is not a list of strings");
  EXPECT_EQ(unexpected([&] { answer.texts("text"); }), "'text' is not a list of strings");
  EXPECT_EQ(unexpected([&] { answer.number("number"); }), "'number' with the size '1.5'");
  EXPECT_EQ(unexpected([&] { answer.number("negative"); }), "'negative' with the size '-1'");
  EXPECT_EQ(unexpected([&] { answer.number("large"); }), "'large' is too large");
  EXPECT_EQ(unexpected([&] { answer.number("huge"); }),
            "'huge' with the size '18446744073709551615'");
  EXPECT_EQ(unexpected([&] { answer.table("list", 3, 1); }), "'list' has 2 entries instead of 3");
  EXPECT_EQ(unexpected([&] { answer.table("list", 2, 1); }),
            "'list' does not have 1 numbers for each");
}

TEST(OrtAnswer, ControlCharactersInErrorTextsAreEscaped) {
  EXPECT_EQ(OrtAnswer(R"({"error": "a\u001bb\nc"})").text("error"), "a\\x1bb\\nc");
}

TEST(OrtAnswer, TensorsHaveTheirAnnouncedSizes) {
  EXPECT_EQ(unexpected_tensors(R"([{"type": "float32", "shape": [2, 3], "bytes": 20}])"),
            "tensor 1 of type float32 and shape [2, 3] with 20 bytes");
  EXPECT_EQ(unexpected_tensors(R"([{"type": "int8", "shape": [-1, -4], "bytes": 4}])"),
            "tensor 1 with the size '-1'");
  EXPECT_EQ(unexpected_tensors(R"([{"type": "int8", "shape": [4], "bytes": -4}])"),
            "tensor 1 with the size '-4'");
  EXPECT_EQ(unexpected_tensors(R"([{"type": "int8", "shape": [2.5], "bytes": 4}])"),
            "tensor 1 with the size '2.5'");
  EXPECT_EQ(
      unexpected_tensors(R"([{"type": "int8", "shape": [4294967296, 4294967296, 2], "bytes": 0}])"),
      "tensor 1 of type int8 and shape [4294967296, 4294967296, 2] with 0 bytes");
  EXPECT_NE(
      unexpected_tensors(R"([{"type": "int8", "shape": [0, 4294967296, 4294967296], "bytes": 0}])"),
      "");
}

TEST(OrtAnswer, TensorsAreComplete) {
  EXPECT_EQ(unexpected_tensors(R"([])"), "'tensors' has 0 entries instead of 1");
  EXPECT_EQ(unexpected_tensors(R"([1, 2])"), "'tensors' has 2 entries instead of 1");
  EXPECT_EQ(unexpected_tensors(R"(1)"), "'tensors' is not a list");
  EXPECT_EQ(unexpected_tensors(R"([1])"), "tensor 1 without 'type'");
  EXPECT_EQ(unexpected_tensors(R"([{"type": 1, "shape": 1}])"),
            "tensor 1: the type is not a string");
  EXPECT_EQ(unexpected_tensors(R"([{"type": "int8", "shape": 1}])"),
            "tensor 1: the shape is not a list of up to 64 sizes");
  EXPECT_EQ(unexpected_tensors(R"([{"type": "int8", "shape": [1]}])"), "tensor 1 without 'bytes'");
}

}  // namespace
}  // namespace sparsebit::exports::onnxruntime_answer_test
