#include "sparsebit/core/yaml.h"

#include "core/temp_dir.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace sparsebit::yaml_test {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

Yaml parse(const std::string& text) { return parse_yaml(text, "q.yaml"); }

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Yaml, ReadsMapsListsAndScalars) {
  const Yaml root = parse("W:\n  BIT: 8\n  ALPHA: 1e-3\n  ON: Yes\nSKIP: [a.b, 'c*']\nEMPTY:\n");
  EXPECT_EQ(root.get("W").get("BIT").to_int(), 8);
  EXPECT_EQ(root.get("W").get("ALPHA").to_double(), 1e-3);
  EXPECT_TRUE(root.get("W").get("ON").to_bool());
  EXPECT_THAT(root.get("SKIP").to_texts(), ElementsAre("a.b", "c*"));
  EXPECT_TRUE(root.get("EMPTY").is_null());
  EXPECT_EQ(root.find("A"), nullptr);
  EXPECT_EQ(root.get("SKIP").items()[1].where(), "q.yaml:5: SKIP[1]");
  EXPECT_EQ(root.entries()[0].first, "W");
}

TEST(Yaml, NumbersMayBeQuotedOrHaveAPoint) {
  const Yaml root = parse("A: '8'\nB: 8.0\nC: 1\nD: -3\nE: +4");
  EXPECT_EQ(root.get("A").to_int(), 8);
  EXPECT_EQ(root.get("B").to_int(), 8);
  EXPECT_EQ(root.get("C").to_double(), 1);
  EXPECT_EQ(root.get("D").to_int(), -3);
  EXPECT_EQ(root.get("E").to_int(), 4);
}

TEST(Yaml, JsonIsYaml) {
  EXPECT_EQ(parse(R"({"a": [1, {"b": true}]})").get("a").items()[1].get("b").to_bool(), true);
}

TEST(Yaml, AnEmptyDocumentIsNothing) {
  EXPECT_TRUE(parse("").is_null());
  EXPECT_TRUE(parse("# a comment\n").is_null());
}

TEST(Yaml, ErrorsSayWhatAndWhere) {
  const Yaml root = parse("W:\n  BIT: eight\n  ON: maybe\nL: [1, x]\n");
  const Yaml& w = root.get("W");
  EXPECT_EQ(error_of([&] { w.get("BIT").to_int(); }),
            "q.yaml:2: W.BIT: expected a whole number, found 'eight'");
  EXPECT_EQ(error_of([&] { w.get("ON").to_bool(); }),
            "q.yaml:3: W.ON: expected true or false, found 'maybe'");
  EXPECT_EQ(error_of([&] { root.get("L").items()[1].to_double(); }),
            "q.yaml:4: L[1]: expected a number, found 'x'");
  EXPECT_EQ(error_of([&] { root.get("L").to_text(); }),
            "q.yaml:4: L: expected a string, found a list");
  EXPECT_EQ(error_of([&] { w.get("BITS"); }),
            "q.yaml:2: W: the key 'BITS' is missing; did you mean 'BIT'?");
  EXPECT_EQ(error_of([&] { w.items(); }), "q.yaml:2: W: expected a list, found a map");
}

TEST(Yaml, InvalidYamlIsAnErrorWithItsLine) {
  EXPECT_THAT(error_of([] { parse("A: 1\nB: [1, 2\n"); }), StartsWith("q.yaml:"));
  EXPECT_EQ(error_of([] { parse("A: 1\nB: 2\nA: 3\n"); }), "q.yaml:3: duplicate key 'A'");
  EXPECT_THAT(error_of([] { parse(std::string(5000, '[')); }), StartsWith("q.yaml:1: "));
  EXPECT_THAT(error_of([] { parse("? [a, b]\n: 1\n"); }), StartsWith("q.yaml:1: a key must be"));
}

/// Nine lines that expand to a billion scalars.
TEST(Yaml, ReferencesThatGrowAreAnError) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 1; k < 10; ++k) text += ", " + last;
    text += "]\n";
  }
  EXPECT_THAT(error_of([&] { parse(text); }), testing::HasSubstr("nested too deeply or too large"));
}

std::string repeated(const std::string& text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

TEST(Yaml, AliasesAreCopies) {
  const Yaml root = parse("A: &a\n  B: [1, 2]\nC: *a\n");
  EXPECT_EQ(root.get("C").get("B").items()[1].to_int(), 2);
  EXPECT_EQ(root.get("C").get("B").items()[1].where(), "q.yaml:2: C.B[1]")
      << "the line of the anchor, the path of the alias";
  EXPECT_EQ(parse("- &k name\n- {*k : 1}\n").items()[1].get("name").to_int(), 1);
  EXPECT_EQ(parse("- &a 1\n- &a 2\n- *a\n").items()[2].to_int(), 2);
  EXPECT_EQ(parse("&a A: 1\nB: &b\nC: *b\nD: *a\n").get("C").where(), "q.yaml:3: C");
}

TEST(Yaml, LimitsOfWhatAFileMayHold) {
  const std::string rule =
      ": the document is nested too deeply or too large; the limits are 100 levels, 200000 values "
      "and 32 MB of text, with all aliases written out";
  const std::string deep = repeated("[", 100) + repeated("]", 100);
  EXPECT_EQ(error_of([&] { parse(deep); }), "");
  EXPECT_EQ(error_of([&] { parse("- " + deep); }), "q.yaml:1" + rule);
  EXPECT_EQ(error_of([&] { parse("&a [*a]"); }), "q.yaml:1" + rule) << "endless";
  EXPECT_EQ(error_of([&] { parse(repeated("-\n", 199'999)); }), "");
  EXPECT_EQ(error_of([&] { parse(repeated("-\n", 200'000)); }), "q.yaml:200001" + rule);
  const std::string text = "- &a " + std::string(900'000, 'x') + "\n";
  EXPECT_EQ(error_of([&] { parse(text + repeated("- *a\n", 30)); }), "");
  EXPECT_EQ(error_of([&] { parse(text + repeated("- *a\n", 40)); }), "q.yaml:1" + rule);
  EXPECT_EQ(error_of([] { parse("? " + std::string(1025, 'k') + "\n: 1\n"); }),
            "q.yaml:1: a key has 1025 characters; the limit is 1024");
  EXPECT_EQ(error_of([] { parse(std::string(1'000'001, ' ')); }),
            "q.yaml: too large for a configuration (1000001 bytes; the limit is 1 MB)");
}

/// Megabytes that the largest file takes with this text in it again and again, in a new process.
int megabytes_for(const std::string& begin, const std::string& text) {
  const std::string document = begin + repeated(text, (1'000'000 - begin.size()) / text.size());
  const pid_t pid = ::fork();
  if (pid == 0) {
    const auto peak = [] {
      struct rusage usage {};
      ::getrusage(RUSAGE_SELF, &usage);
      return usage.ru_maxrss / 1024;
    };
    const long before = peak();
    error_of([&] { parse(document); });
    std::_Exit(static_cast<int>(std::min(peak() - before, 2550L) / 10));  // an exit code is a byte
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << text;
  return 10 * WEXITSTATUS(status);
}

TEST(Yaml, HostileFilesTakeLittleMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "its allocator keeps what is freed";
#endif
  constexpr int kMost = 300;
  EXPECT_LT(megabytes_for("", "["), kMost);
  EXPECT_LT(megabytes_for("[", "a,"), kMost);
  EXPECT_LT(megabytes_for("", "{a: "), kMost);
  EXPECT_LT(megabytes_for("", "- "), kMost);
  EXPECT_LT(megabytes_for("", "-\n"), kMost);
  EXPECT_LT(megabytes_for("", "x"), kMost);
  EXPECT_LT(megabytes_for("- &a " + std::string(100'000, 'x') + "\n", "- *a\n"), kMost);
}

TEST(Yaml, ErrorsOfTheParserAreOurs) {
  EXPECT_EQ(error_of([] { parse("A: 1\nB: *none\n"); }),
            "q.yaml:2: not valid YAML: the referenced anchor is not defined");
  EXPECT_EQ(error_of([] { parse("A: \"\\\x1b\"\n"); }),
            "q.yaml:1: not valid YAML: unknown escape character: \\x1b");
}

TEST(Yaml, ReadsFiles) {
  const test::TempDir folder;
  const std::filesystem::path file = folder.path() / "c.yaml";
  std::ofstream(file) << "A: x\n";
  EXPECT_THAT(error_of([&] { read_yaml(file).get("A").to_int(); }),
              StartsWith(file.string() + ":1: A: expected a whole number"));
  EXPECT_THROW(read_yaml(folder.path() / "none.yaml"), Error);
}

TEST(Yaml, TabsAreNamed) {
  EXPECT_THAT([] { parse_yaml("a:\n\tb: 1\n", "c.yaml"); },
              testing::ThrowsMessage<Error>(
                  testing::AllOf(testing::StartsWith("c.yaml:2: not valid YAML: "),
                                 testing::EndsWith("(YAML is indented with spaces, not tabs)"))));
}

}  // namespace
}  // namespace sparsebit::yaml_test
