#include "sparsebit/core/printable_text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sparsebit::printable_text_test {
namespace {

using namespace std::string_literals;

const std::vector<std::pair<std::string, std::string>>& cases() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"", ""},
      {"conv1/weight \\ 'x'", "conv1/weight \\ 'x'"},
      {"grün, 卷积, 🙂", "grün, 卷积, 🙂"},
      {"a\nb\r\nc\td", "a\\nb\\r\\nc\\td"},
      {"\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"},
      {"nul\0byte"s, "nul\\x00byte"},
      {"\x08\x7f", "\\x08\\u007f"},
      {"\xc2\x85\xc2\x9b[2J", "\\u0085\\u009b[2J"},  // C1: next line, CSI
      {"\xe2\x80\xae"
       "txt.onnx",
       "\\u202etxt.onnx"},                               // right-to-left override
      {"\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"},  // isolates
      {"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},    // line and paragraph separators
      {"\xd8\x9c\xe2\x80\x8f", "\\u061c\\u200f"},        // marks
      {"\xff\xfe", "\\xff\\xfe"},                        // no UTF-8 at all
      {"a\xc3", "a\\xc3"},                               // cut
      {"\xc3(", "\\xc3("},                               // not continued
      {"\x80", "\\x80"},                                 // continues nothing
      {"\xc0\x8a", "\\xc0\\x8a"},                        // overlong line break
      {"\xe0\x80\x8a", "\\xe0\\x80\\x8a"},               // the same, longer
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},               // surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},      // above U+10FFFF
  };
  return all;
}

TEST(Printable, WhatATerminalWouldObeyIsEscaped) {
  for (const auto& [text, expected] : cases()) EXPECT_EQ(printable(text), expected);
}

TEST(Printable, TwiceIsAsOnce) {
  for (const auto& [text, expected] : cases()) EXPECT_EQ(printable(printable(text)), expected);
}

TEST(Printable, NoByteIsLeftThatATerminalObeys) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      for (const char c : printable(text)) {
        ASSERT_GE(static_cast<unsigned char>(c), 0x20) << first << " " << second;
        ASSERT_NE(c, '\x7f') << first << " " << second;
      }
    }
  }
}

TEST(Printable, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("abcd", 3), "abc... (1 more characters)");
  EXPECT_EQ(printable("äöü", 2), "äö... (1 more characters)");
  const std::string megabyte(1'000'000, 'x');
  EXPECT_EQ(printable(megabyte, 10), "xxxxxxxxxx... (999990 more characters)");
}

TEST(PrintableLines, LineBreaksAndTabsStay) {
  EXPECT_EQ(printable_lines("a\n\tb\r\nc"), "a\n\tb\r\nc");
  EXPECT_EQ(printable_lines("50 %\rdone\x1b[2J\n"), "50 %\\rdone\\x1b[2J\n");
  EXPECT_EQ(printable_lines("{\"name\": \"\xe2\x80\xae\x7f\"}"), "{\"name\": \"\\u202e\\u007f\"}");
}

TEST(CompleteBytes, ACutCharacterWaitsForItsRest) {
  EXPECT_EQ(complete_bytes(""), 0);
  EXPECT_EQ(complete_bytes("abc"), 3);
  EXPECT_EQ(complete_bytes("ab\xc3"), 2);
  EXPECT_EQ(complete_bytes("ab\xc3\xa4"), 4);
  EXPECT_EQ(complete_bytes("ab\xf0\x9f\x99"), 2);
  EXPECT_EQ(complete_bytes("ab\xf0\x9f\x99\x82"), 6);
  EXPECT_EQ(complete_bytes("a\r"), 1);
  EXPECT_EQ(complete_bytes("a\r\n"), 3);
  EXPECT_EQ(complete_bytes("a\x80\x80\x80\x80"), 5);  // will never be a character
}

}  // namespace
}  // namespace sparsebit::printable_text_test
