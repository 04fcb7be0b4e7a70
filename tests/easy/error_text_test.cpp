#include "easy/error_text.h"

#include "sparsebit/core/error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace sparsebit::easy::error_text_test {
namespace {

TEST(ErrorText, PartsAreEscapedAndFramesKeepTheirLines) {
  Error error(ErrorKind::InvalidModel, {.what = "no weight 'a\nerror: b'",
                                        .expected = "\x1b[31m4",
                                        .found = "3\x9b",
                                        .where = "m\r.onnx"});
  error.add_context("in node 'x\ny'");
  error.add_context("while loading");
  EXPECT_EQ(error_text(error),
            "m\\r.onnx: no weight 'a\\nerror: b'; expected \\x1b[31m4, found 3\\x9b\n"
            "  in node 'x\\ny'\n"
            "  while loading");
}

TEST(ErrorText, EachPartIsCut) {
  Error error(ErrorKind::InvalidModel, {.what = std::string(1'000'000, 'w'), .where = "m.onnx"});
  error.add_context(std::string(5000, 'f'));
  EXPECT_EQ(error_text(error), "m.onnx: " + std::string(2000, 'w') +
                                   "... (998000 more characters)\n  " + std::string(2000, 'f') +
                                   "... (3000 more characters)");
}

TEST(ErrorText, OtherExceptionsAreOneLine) {
  EXPECT_EQ(error_text(std::runtime_error("a\x1b\nb")), "a\\x1b");
  EXPECT_EQ(error_text(std::bad_alloc()).find("not enough memory; the limit is "), 0u);
}

}  // namespace
}  // namespace sparsebit::easy::error_text_test
