#include "sparsebit/passes/pattern.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::passes::pattern_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

auto says(const std::string& text) { return ThrowsMessage<Error>(HasSubstr(text)); }

TEST(Pattern, FindsItsNodesByName) {
  const Pattern pattern({{.name = "conv", .operators = {"conv2d"}},
                         {.name = "bn", .operators = {"batch_norm"}, .inputs = {"conv"}}});
  EXPECT_EQ(pattern.find("bn"), 1u);
  EXPECT_THAT([&] { pattern.find("relu"); }, says("the pattern has no node 'relu'"));
}

TEST(Pattern, NamesHaveToBeUniqueAndThere) {
  EXPECT_THAT([] { Pattern({}); }, says("a pattern needs at least one node"));
  EXPECT_THAT([] { Pattern({{.name = "", .operators = {"relu"}}}); },
              says("pattern node 0 needs a name of its own"));
  EXPECT_THAT(
      [] {
        Pattern({{.name = "a"}, {.name = kAnything, .operators = {"relu"}}});
      },
      says("pattern node 1 needs a name of its own"));
  EXPECT_THAT(
      [] {
        Pattern({{.name = "a", .operators = {"relu"}}, {.name = "a", .operators = {"relu"}}});
      },
      says("two pattern nodes are called 'a'"));
}

TEST(Pattern, OperatorsHaveToExist) {
  EXPECT_THAT(
      [] {
        Pattern({{.name = "a", .operators = {"conv2d", "conv4d"}}});
      },
      says("pattern node 'a': unknown operator 'conv4d'"));
}

TEST(Pattern, InputsComeFirst) {
  EXPECT_THAT(
      [] {
        Pattern({{.name = "b", .operators = {"relu"}, .inputs = {"a"}},
                 {.name = "a", .operators = {"relu"}}});
      },
      says("pattern node 'b': its input 'a' is not an earlier pattern node"));
  EXPECT_THAT(
      [] {
        Pattern({{.name = "a"}, {.name = "b", .inputs = {"a"}}});
      },
      says("pattern node 'b' stands for any node, so it cannot name inputs"));
}

TEST(Pattern, NodesHangTogether) {
  EXPECT_THAT(
      [] {
        Pattern({{.name = "a", .operators = {"relu"}},
                 {.name = "b", .operators = {"relu"}, .inputs = {"a"}},
                 {.name = "c", .operators = {"tanh"}}});
      },
      says("pattern node 'c' is not connected with 'a'"));
}

TEST(Pattern, JointChecksNameNodesOfIt) {
  const auto always = [](const Match&) { return true; };
  const std::vector<PatternNode> nodes = {{.name = "a", .operators = {"relu"}},
                                          {.name = "b", .operators = {"relu"}, .inputs = {"a"}}};
  EXPECT_NO_THROW(Pattern(nodes, {{{"a", "b"}, always}}));
  EXPECT_THAT([&] { Pattern(nodes, {{{"a", "c"}, always}}); }, says("the pattern has no node 'c'"));
  EXPECT_THAT(
      [&] {
        Pattern(nodes, {{{"a"}, always}});
      },
      says("a joint check needs a function and at least two pattern nodes"));
}

}  // namespace
}  // namespace sparsebit::passes::pattern_test
