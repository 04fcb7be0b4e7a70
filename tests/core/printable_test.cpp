#include "sparsebit/core/printable.h"

#include <gtest/gtest.h>

namespace sparsebit::printable_test {
namespace {

TEST(Printable, TextStaysAsItIs) {
  EXPECT_EQ(printable("a b~ \u00e9 \u20ac \U0001f600"), "a b~ \u00e9 \u20ac \U0001f600");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ControlCharactersBecomeSpaces) {
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a b [31m ");
  EXPECT_EQ(printable("\u009b31m\u00a0"), " 31m\u00a0");
}

TEST(Printable, OtherBytesBecomeQuestionMarks) {
  EXPECT_EQ(printable("\xff|\xc3"), "?|?");
  EXPECT_EQ(printable("\xe2\x82"), "??");
  EXPECT_EQ(printable("\xc0\x80|\xe0\x80\x80|\xf0\x80\x80\x80"), "??|???|????") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80|\xf4\x90\x80\x80"), "???|????") << "no code points";
}

TEST(PrintableEnd, BeginsWithACharacter) {
  EXPECT_EQ(printable_end("abc", 5), "abc");
  EXPECT_EQ(printable_end("abc", 2), "bc");
  EXPECT_EQ(printable_end("a\u20acb", 3), "b");
  EXPECT_EQ(printable_end("a\u20acb", 4), "\u20acb");
  EXPECT_EQ(printable_end("abc", 0), "");
}

}  // namespace
}  // namespace sparsebit::printable_test
