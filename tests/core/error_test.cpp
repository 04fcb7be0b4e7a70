#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::error_test {
namespace {

using testing::ElementsAre;

struct RenderCase {
  const char* name;
  ErrorDetails details;
  const char* text;
};

void PrintTo(const RenderCase& c, std::ostream* out) { *out << c.name; }

class ErrorText : public testing::TestWithParam<RenderCase> {};

TEST_P(ErrorText, LeavesOutEmptyParts) {
  EXPECT_STREQ(Error(ErrorKind::InvalidModel, GetParam().details).what(), GetParam().text);
}

const RenderCase kCases[] = {
    {"WhatOnly", {.what = "no input"}, "no input"},
    {"Where", {.what = "no input", .where = "net.onnx"}, "net.onnx: no input"},
    {"Expected", {.what = "wrong rank", .expected = "4"}, "wrong rank; expected 4"},
    {"Found", {.what = "wrong rank", .found = "3"}, "wrong rank; found 3"},
    {"ExpectedAndFound",
     {.what = "wrong rank", .expected = "4", .found = "3"},
     "wrong rank; expected 4, found 3"},
    {"AllParts",
     {.what = "wrong rank", .expected = "4", .found = "3", .where = "node 'conv1'"},
     "node 'conv1': wrong rank; expected 4, found 3"},
};
INSTANTIATE_TEST_SUITE_P(Cases, ErrorText, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Error, KeepsItsParts) {
  const Error error(ErrorKind::Io, {.what = "a", .expected = "b", .found = "c", .where = "d"});
  EXPECT_EQ(error.kind(), ErrorKind::Io);
  EXPECT_EQ(error.details().what, "a");
  EXPECT_EQ(error.details().expected, "b");
  EXPECT_EQ(error.details().found, "c");
  EXPECT_EQ(error.details().where, "d");
}

TEST(Error, ContextFramesFollowInnermostFirst) {
  try {
    try {
      try {
        throw Error(ErrorKind::InvalidModel, "node 'conv1' has no parameter 'weight'");
      } catch (Error& e) {
        e.add_context("while running pass 'fold-batch-norm'");
        throw;
      }
    } catch (Error& e) {
      e.add_context("while quantizing 'net.onnx'");
      throw;
    }
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "node 'conv1' has no parameter 'weight'\n"
                 "  while running pass 'fold-batch-norm'\n"
                 "  while quantizing 'net.onnx'");
    EXPECT_THAT(e.context(),
                ElementsAre("while running pass 'fold-batch-norm'", "while quantizing 'net.onnx'"));
    EXPECT_EQ(e.kind(), ErrorKind::InvalidModel);
  }
}

TEST(Error, IsAStandardException) {
  try {
    throw Error(ErrorKind::Internal, "text");
  } catch (const std::exception& e) {
    EXPECT_STREQ(e.what(), "text");
  }
}

TEST(Check, ThrowsKindAndJoinedParts) {
  try {
    const int bits = 17;
    SPARSEBIT_CHECK(bits <= 16, InvalidArgument, "bits must be at most ", 16, ", got ", bits);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "bits must be at most 16, got 17");
    EXPECT_EQ(e.kind(), ErrorKind::InvalidArgument);
  }
}

TEST(Check, EvaluatesTheConditionOnceAndTheMessageOnlyOnFailure) {
  int conditions = 0;
  int messages = 0;
  const auto holds = [&](bool value) { return ++conditions, value; };
  const auto message = [&] { return ++messages, "text"; };

  SPARSEBIT_CHECK(holds(true), Internal, message());
  EXPECT_EQ(conditions, 1);
  EXPECT_EQ(messages, 0);

  EXPECT_THROW(SPARSEBIT_CHECK(holds(false), Internal, message()), Error);
  EXPECT_EQ(conditions, 2);
  EXPECT_EQ(messages, 1);
}

TEST(Check, IsOneStatement) {
  bool reached_else = false;
  if (false)
    SPARSEBIT_CHECK(false, Internal, "never");
  else
    reached_else = true;
  EXPECT_TRUE(reached_else);
}

}  // namespace
}  // namespace sparsebit::error_test
