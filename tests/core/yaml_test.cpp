#include "sparsebit/core/yaml.h"

#include "core/temp_dir.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Yaml, WhatIsNoYamlIsAnErrorWithItsLine) {
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

TEST(Yaml, ReadsFiles) {
  const test::TempDir folder;
  const std::filesystem::path file = folder.path() / "c.yaml";
  std::ofstream(file) << "A: x\n";
  EXPECT_THAT(error_of([&] { read_yaml(file).get("A").to_int(); }),
              StartsWith(file.string() + ":1: A: expected a whole number"));
  EXPECT_THROW(read_yaml(folder.path() / "none.yaml"), Error);
}

}  // namespace
}  // namespace sparsebit::yaml_test
