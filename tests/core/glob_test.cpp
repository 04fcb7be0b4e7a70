#include "sparsebit/core/glob.h"

#include "support/cpu_time.h"

#include <gtest/gtest.h>

namespace sparsebit::glob_test {
namespace {

struct GlobCase {
  const char* text;
  const char* pattern;
  bool matches;
};

// Results of fnmatch.fnmatchcase in Python 3.11. Bytes that are not UTF-8 were passed through
// os.fsdecode.
const GlobCase kCases[] = {
    {"backbone.layer1.0.conv1", "backbone*", true},
    {"head.fc", "head*", true},
    {"conv1", "backbone*", false},
    {"backbone.layer1.0.conv1", "*conv?", true},
    {"backbone.layer1.0.conv1", "backbone.layer[12].*", true},
    {"backbone.layer3.0.conv1", "backbone.layer[12].*", false},
    {"backbone.layer1.0.conv1", "layer1", false},
    {"backbone.layer1.0.conv1", "*.0.*", true},
    {"layer1.10.conv1", "layer1.?.conv1", false},
    {"layer1.0.conv1", "layer1.?.conv1", true},
    {"Head.fc", "head*", false},
    {"", "", true},
    {"", "*", true},
    {"", "?", false},
    {"a", "", false},
    {"a", "*", true},
    {"a", "?", true},
    {"ab", "?", false},
    {"abc", "a*c", true},
    {"abc", "a*b", false},
    {"abc", "***", true},
    {"abc", "*?*?*?*", true},
    {"ab", "*?*?*?*", false},
    {"a/b", "*", true},
    {".hidden", "*", true},
    {"a\nb", "a?b", true},
    {"a\nb", "a*", true},
    {"a\n", "a", false},
    {"a", "[abc]", true},
    {"d", "[abc]", false},
    {"a", "[!abc]", false},
    {"d", "[!abc]", true},
    {"", "[!abc]", false},
    {"b", "[a-c]", true},
    {"d", "[a-c]", false},
    {"d", "[!a-c]", true},
    {"]", "[]]", true},
    {"]", "[]a]", true},
    {"a", "[]a]", true},
    {"]", "[!]]", false},
    {"a", "[!]]", true},
    {"[", "[", true},
    {"[a", "[a", true},
    {"a", "[a", false},
    {"[!", "[!", true},
    {"[]", "[]", true},
    {"[!]", "[!]", true},
    {"[", "[[]", true},
    {"x[0]", "x[[]0]", true},
    {"^", "[^a]", true},
    {"a", "[^a]", true},
    {"b", "[^a]", false},
    {"\\", "\\", true},
    {"\\a", "\\?", true},
    {"\\*", "\\*", true},
    {"*", "\\*", false},
    {"\\", "[\\]", true},
    {"a", "[\\a]", true},
    {"b", "[b-a]", false},
    {"-", "[b-a]", false},
    {"b", "[!b-a]", true},
    {"a", "[b-a!x]", true},
    {"x", "[b-a!x]", false},
    {"-", "[b-a!-z]", false},
    {"q", "[b-a!-z]", true},
    {"-", "[-a]", true},
    {"-", "[a-]", true},
    {"b", "[a-]", false},
    {"-", "[!-a]", false},
    {"b", "[!-a]", true},
    {"b", "[a-c-e]", true},
    {"d", "[a-c-e]", false},
    {"-", "[a-c-e]", true},
    {"e", "[a-c-e]", true},
    {".", "[+--/]", false},
    {",", "[+--]", true},
    {"-", "[---]", true},
    {"a", "[a-a]", true},
    {"-", "[c-b-a]", true},
    {"b", "[c-b-a]", false},
    {"&", "[&&]", true},
    {"~", "[a~~b]", true},
    {"|", "[a||b]", true},
    {"é", "?", true},
    {"éa", "??", true},
    {"é", "??", false},
    {"é", "[é]", true},
    {"è", "[é]", false},
    {"中", "[一-龥]", true},
    {"a", "[一-龥]", false},
    {"𝄞", "?", true},
    {"\xff", "?", true},
    {"\xff", "\xff", true},
    {"\xff", "[!a]", true},
    {"\xe2\x82", "??", true},
    {"\xe2\x82", "?", false},
    {"\xe0\x80\x80", "???", true},
    {"\xe0\x80\x80", "?", false},
    {"\xf0\x80\x80\x80", "????", true},
    {"\xf0\x80\x80\x80", "?", false},
    {"\xed\xa0\x80", "???", true},
    {"\xed\xa0\x80", "?", false},
    {"\xf4\x90\x80\x80", "????", true},
    {"\xf4\x90\x80\x80", "?", false},
    {"\xc0\x80", "??", true},
    {"\xc0\x80", "?", false},
    {"\xf4\x8f\xbf\xbf", "????", false},
    {"\xf4\x8f\xbf\xbf", "?", true},
    {"\xe0\xa0\x80", "???", false},
    {"\xe0\xa0\x80", "?", true},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "*a*a*a*a*b", false},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "*a*a*a*a*b", true},
    {"abcabcabd", "*abd", true},
    {"abcabcabdx", "*abd", false},
    {"mississippi", "m*si*ip*", true},
    {"mississippi", "m*si*is*p?", false},
};

TEST(GlobMatch, AgreesWithPython) {
  for (const GlobCase& c : kCases) {
    EXPECT_EQ(glob_match(c.text, c.pattern), c.matches)
        << "text '" << c.text << "', pattern '" << c.pattern << "'";
  }
}

TEST(GlobMatch, ZeroBytesAreCharacters) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(glob_match("a\0b"sv, "a?b"));
  EXPECT_FALSE(glob_match("a\0b"sv, "a"));
}

TEST(GlobMatch, ManyStarsDoNotTakeExponentialTime) {
  const std::string text(2000, 'a');
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  const double seconds = test::cpu_seconds_of([&] {
    EXPECT_FALSE(glob_match(text, pattern + "*b"));
    EXPECT_TRUE(glob_match(text + "b", pattern + "*b"));
  });
  EXPECT_LT(seconds, 20);  // milliseconds normally; sanitizers take longer
}

TEST(GlobMatchAny, OnePatternIsEnough) {
  EXPECT_TRUE(glob_match_any("head.fc", {"backbone*", "head*"}));
  EXPECT_FALSE(glob_match_any("neck.fc", {"backbone*", "head*"}));
  EXPECT_FALSE(glob_match_any("head.fc", {}));
}

}  // namespace
}  // namespace sparsebit::glob_test
