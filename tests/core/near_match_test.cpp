#include "sparsebit/core/near_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

namespace sparsebit::near_match_test {
namespace {

struct NearMatchCase {
  const char* name;
  std::string_view wanted;
  std::vector<std::string> known;
  std::vector<std::string> nearest;
};

void PrintTo(const NearMatchCase& c, std::ostream* out) { *out << c.name; }

class NearMatches : public testing::TestWithParam<NearMatchCase> {};

TEST_P(NearMatches, FindsNearestFirst) {
  const NearMatchCase& c = GetParam();
  EXPECT_EQ(near_matches(c.wanted, c.known), c.nearest);
}

const NearMatchCase kCases[] = {
    {"OneExtraLetter", "minmaxx", {"minmax", "mse"}, {"minmax"}},
    {"OneMissingLetter", "minmx", {"minmax", "mse"}, {"minmax"}},
    {"OneWrongLetter", "minmix", {"minmax", "mse"}, {"minmax"}},
    {"IgnoresCase", "MinMax", {"minmax", "mse"}, {"minmax"}},
    {"KnownMayHaveCapitals", "conv2d", {"Conv2d"}, {"Conv2d"}},
    // Three swaps cost 3 = 10 / 3; as two substitutions each they would exceed the limit.
    {"NeighboursSwapped", "ocvn_layre", {"conv_layer"}, {"conv_layer"}},
    // A letter inserted between two swapped ones costs two edits, not three.
    {"SwappedAround", "ca", {"abc"}, {"abc"}},
    {"AtMostTwoChangesInShortNames", "abcde", {"abcXY", "abXYZ"}, {"abcXY"}},
    {"AThirdOfLongNames", "abcdefghijkl", {"abcdefghWXYZ", "abcdefgVWXYZ"}, {"abcdefghWXYZ"}},
    {"BestFirst", "relu", {"rely2", "relu6", "prelu", "gelu"}, {"relu6", "prelu", "gelu"}},
    {"TiesInOrderOfKnown", "bat", {"cat", "bar", "bit"}, {"cat", "bar", "bit"}},
    {"KnownContainsName", "norm", {"batch_normalization"}, {"batch_normalization"}},
    {"NameContainsKnown", "my_percentile_observer", {"percentile"}, {"percentile"}},
    {"OneLetterInsideIsNotEnough", "observer", {"b"}, {}},
    {"NothingInCommon", "xy", {"a", "bc"}, {}},
    {"Far", "zzz", {"minmax", "mse"}, {}},
    {"EmptyName", "", {"minmax", "a"}, {}},
    {"NothingKnown", "minmax", {}, {}},
};
INSTANTIATE_TEST_SUITE_P(Cases, NearMatches, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(NearMatches, LimitsTheNumber) {
  const std::vector<std::string> known = {"conv1", "conv2", "conv3", "conv4"};
  EXPECT_THAT(near_matches("conv", known), testing::ElementsAre("conv1", "conv2", "conv3"));
  EXPECT_THAT(near_matches("conv", known, 1), testing::ElementsAre("conv1"));
  EXPECT_THAT(near_matches("conv", known, 0), testing::IsEmpty());
}

TEST(NearMatches, ManyTiesKeepTheirOrder) {
  std::vector<std::string> known;
  for (char c = 'z'; c >= 'a'; --c) known.push_back(std::string("layer") + c);
  known.insert(known.begin() + 13, "layers0");  // distance 2, so it comes last
  std::vector<std::string> expected = known;
  std::rotate(expected.begin() + 13, expected.begin() + 14, expected.end());
  EXPECT_EQ(near_matches("layer_", known, 100), expected);
}

TEST(DidYouMean, ListsOneTwoOrThree) {
  EXPECT_EQ(did_you_mean("zzz", {"minmax"}), "");
  EXPECT_EQ(did_you_mean("minmaxx", {"minmax"}), "; did you mean 'minmax'?");
  EXPECT_EQ(did_you_mean("conv", {"conv1", "conv2"}), "; did you mean 'conv1' or 'conv2'?");
  EXPECT_EQ(did_you_mean("conv", {"conv1", "conv2", "conv3", "conv4"}),
            "; did you mean 'conv1', 'conv2' or 'conv3'?");
}

}  // namespace
}  // namespace sparsebit::near_match_test
