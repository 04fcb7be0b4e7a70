#include "sparsebit/core/error_context.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <functional>
#include <regex>
#include <stdexcept>

// With exceptions as the libraries really throw them.

namespace sparsebit::error_context_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string message_from(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::exception& e) {
    return message_of(e);
  }
  return "nothing was thrown";
}

TEST(MessageOf, PyTorchIsNamed) {
  EXPECT_EQ(message_from([] {
              at::mm(at::ones({1, 3}), at::ones({4, 2}));
            }),
            "PyTorch refused this: mat1 and mat2 shapes cannot be multiplied (1x3 and 4x2)");
  EXPECT_EQ(message_from([] { at::ones(6).narrow(0, 5, 3); }),
            "PyTorch refused this: start (5) + length (3) exceeds dimension size (6).");
}

TEST(MessageOf, MissingMemoryIsSaidInOurWords) {
  EXPECT_EQ(
      message_from([] { c10::GetDefaultCPUAllocator()->raw_allocate(size_t{4'000'000'000'000}); }),
      "not enough memory for a tensor of 4000 GB");
  EXPECT_EQ(message_from([] {
              at::empty({1LL << 40, 1LL << 40});
            }),
            "the tensor has too many elements");
  EXPECT_THAT(message_from([] { throw std::bad_alloc(); }),
              testing::StartsWith("not enough memory; the limit is "));
  EXPECT_EQ(message_from([] { std::vector<char>().reserve(static_cast<size_t>(-1)); }),
            "not enough memory: a size is too large");
}

TEST(MessageOf, ChecksOfPyTorchLoseTheirSourcesAndRequests) {
  EXPECT_EQ(message_from([] { TORCH_CHECK(false); }),
            "PyTorch refused this: Expected false to be true, but got false.");
  EXPECT_EQ(message_from([] { TORCH_INTERNAL_ASSERT(1 + 1 == 3); }),
            "PyTorch refused this: an internal check of it failed");
  EXPECT_EQ(message_from([] { TORCH_INTERNAL_ASSERT(1 + 1 == 3, "no such stride"); }),
            "PyTorch refused this: no such stride");
  const int* const nothing = nullptr;
  EXPECT_EQ(message_from([&] { CAFFE_ENFORCE(nothing != nullptr, "the file has no records"); }),
            "PyTorch refused this: the file has no records");
}

TEST(MessageOf, OperatorsThatABackendLacksTakeOneSentence) {
  const std::string text = message_from([] {
    const at::Tensor x = at::quantize_per_tensor(at::ones(4), 0.1, 0, at::kQUInt8);
    at::bitwise_not(x);
  });
  EXPECT_THAT(text, AllOf(HasSubstr("PyTorch refused this: "), Not(HasSubstr("\n")),
                          Not(HasSubstr(".cpp")), Not(HasSubstr("This could be because"))));
}

TEST(MessageOf, BacktracesAndSourcesOfOtherExceptionsAreDropped) {
  EXPECT_EQ(
      message_from([] {
        throw std::runtime_error(
            "the weight is too large\nException raised from conv2d at "
            "../aten/src/ATen/native/Convolution.cpp:123 (most recent call first):\nframe #0");
      }),
      "the weight is too large");
  EXPECT_EQ(message_from([] {
              throw std::runtime_error(
                  "The following operation failed in the TorchScript interpreter.\nTraceback of "
                  "TorchScript (most recent call last):\n  File \"m.py\", line 3\nRuntimeError: "
                  "shape '[4]' is invalid for input of size 6\n");
            }),
            "shape '[4]' is invalid for input of size 6");
  EXPECT_EQ(message_from([] { throw std::runtime_error("bad stride (at TensorImpl.h:12)"); }),
            "bad stride");
  EXPECT_EQ(message_from([] { throw std::runtime_error("\n"); }), "no reason given");
}

TEST(MessageOf, LongLinesDoNotExhaustTheStack) {
  const std::string text =
      message_from([] { throw std::runtime_error(std::string(4'000'000, 'x')); });
  EXPECT_LT(text.size(), 10'000U);
}

TEST(MessageOf, FilesystemErrorsSayWhichFile) {
  EXPECT_EQ(message_from([] { (void)std::filesystem::file_size("/nowhere/model.onnx"); }),
            "/nowhere/model.onnx: cannot get file size: No such file or directory");
  EXPECT_EQ(message_from([] { std::filesystem::rename("/nowhere/a", "/nowhere/b"); }),
            "/nowhere/a, /nowhere/b: cannot rename: No such file or directory");
}

TEST(MessageOf, OtherLibrariesAreSaidInOurWords) {
  EXPECT_THAT(message_from([] { std::regex("a{"); }),
              AllOf(HasSubstr("not a valid regular expression: "), Not(HasSubstr("regex_error"))));
  EXPECT_EQ(message_from([] { YAML::Load("a: b: c"); }),
            "line 1, column 5: not valid YAML: illegal map value");
  EXPECT_EQ(message_from([] {
              throw std::runtime_error(
                  "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error");
            }),
            "not valid JSON: parse error at line 1, column 2: syntax error");
  EXPECT_EQ(message_from([] {
              throw std::runtime_error("[json.exception.out_of_range.403] key 'id' not found");
            }),
            "key 'id' not found");
}

TEST(MessageOf, OurOwnErrorsStayAsTheyAre) {
  EXPECT_EQ(message_from([] {
              Error error(ErrorKind::Io, "cannot read at reader.cpp:3");
              error.add_context("while loading");
              throw error;
            }),
            "cannot read at reader.cpp:3\n  while loading");
}

TEST(Behind, FramesStayFrames) {
  Error error(ErrorKind::Io, ErrorDetails{.what = "cannot read", .where = "p.yaml"});
  error.add_context("in platform p");
  const Error prefixed = with_prefix("q.yaml:2: BACKEND: ", error, ErrorKind::InvalidArgument);
  EXPECT_STREQ(prefixed.what(), "q.yaml:2: BACKEND: p.yaml: cannot read\n  in platform p");
  EXPECT_EQ(prefixed.context().size(), 1U);
  EXPECT_EQ(prefixed.kind(), ErrorKind::InvalidArgument);
}

TEST(WithContext, ForeignExceptionsBecomeErrors) {
  const auto run = [] { at::mm(at::ones({1, 3}), at::ones({4, 2})); };
  EXPECT_THAT([&] { with_context(run, [] { return std::string("in node 'fc'"); }); },
              testing::ThrowsMessage<Error>("PyTorch refused this: mat1 and mat2 shapes cannot be "
                                            "multiplied (1x3 and 4x2)\n  in node 'fc'"));
}

}  // namespace
}  // namespace sparsebit::error_context_test
