#include "sparsebit/core/random.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sparsebit::random_test {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

std::vector<uint64_t> first_values(Random random, int n = 3) {
  std::vector<uint64_t> values;
  for (int i = 0; i < n; ++i) values.push_back(random.next());
  return values;
}

// The golden values come from an independent implementation in Python. Changing them changes all
// seeded results of users.
TEST(Random, FirstValuesNeverChange) {
  EXPECT_THAT(first_values(Random(0)),
              ElementsAre(0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0));
  EXPECT_THAT(first_values(Random(1)),
              ElementsAre(0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514));
  EXPECT_THAT(first_values(Random(42)),
              ElementsAre(0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1));
  EXPECT_THAT(first_values(Random(UINT64_MAX)),
              ElementsAre(0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e));
}

TEST(Random, ForksNeverChange) {
  EXPECT_EQ(Random(42).fork("shuffle").seed(), 0xf82ebe48e9e6d5a5);
  EXPECT_EQ(Random(42).fork("weights").fork("conv1").seed(), 0x850f7323ce7b99bf);
  EXPECT_EQ(Random(42).fork("").seed(), 0x448fa8a982f09bab);
}

TEST(Random, OtherDrawsNeverChange) {
  Random uniform(42);
  EXPECT_EQ(uniform.uniform(), 0.08386297105988216);
  EXPECT_EQ(uniform.uniform(), 0.3789802506626686);
  EXPECT_EQ(uniform.uniform(), 0.6800434110281394);
  Random below(42);
  for (const uint64_t expected : {2, 2, 9, 3, 6, 4, 4, 7, 8, 5, 9, 3}) {
    EXPECT_EQ(below.below(10), expected);
  }
  EXPECT_THAT(Random(42).permutation(10), ElementsAre(7, 3, 8, 9, 5, 6, 4, 1, 0, 2));
}

TEST(Random, ForkDoesNotDependOnWhatWasDrawn) {
  Random drawn(7);
  const std::vector<uint64_t> before = first_values(drawn.fork("a"));
  for (int i = 0; i < 100; ++i) drawn.next();
  EXPECT_EQ(first_values(drawn.fork("a")), before);
}

TEST(Random, ForkDoesNotChangeTheParent) {
  Random forked(7);
  forked.fork("a").next();
  EXPECT_EQ(first_values(forked), first_values(Random(7)));
}

TEST(Random, ForksDifferByNameSeedAndOrder) {
  std::set<uint64_t> seeds = {7, 8};
  for (const uint64_t seed : {7, 8}) {
    for (const char* name : {"", "a", "b", "aa", "ab", "ba"}) {
      seeds.insert(Random(seed).fork(name).seed());
    }
    seeds.insert(Random(seed).fork("a").fork("b").seed());
    seeds.insert(Random(seed).fork("b").fork("a").seed());
  }
  EXPECT_EQ(seeds.size(), 2u + 2 * 8);
}

TEST(Random, BelowCoversItsRangeEvenly) {
  Random random(3);
  std::vector<int> counts(6);
  for (int i = 0; i < 60000; ++i) ++counts.at(random.below(6));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);  // four standard deviations
}

TEST(Random, BelowIsUnbiasedForLargeRanges) {
  // With n = 3 * 2^62, a plain modulo would give the lowest third half of all draws.
  const uint64_t n = uint64_t{3} << 62;
  Random random(3);
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += random.below(n) < n / 3 ? 1 : 0;
  EXPECT_NEAR(low, 10000, 330);
}

TEST(Random, UniformStaysInsideItsRange) {
  Random random(5);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.012);
}

TEST(Random, PermutationHoldsEachNumberOnce) {
  std::vector<int64_t> order = Random(1).permutation(1000);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_TRUE(Random(1).permutation(0).empty());
  EXPECT_THAT(Random(1).permutation(1), ElementsAre(0));
}

TEST(Random, GeneratorDrawsWhatLibtorchDrawsForTheSeed) {
  const Random random(42);
  at::manual_seed(42);
  const at::Tensor expected = at::randn({8});
  EXPECT_TRUE(at::equal(at::randn({8}, random.generator()), expected));
  EXPECT_TRUE(
      at::equal(at::randn({8}, random.generator()), expected));  // each call gives a new generator
  EXPECT_FALSE(at::equal(at::randn({8}, random.fork("a").generator()), expected));
}

TEST(Random, ImpossibleRangesAreRefused) {
  EXPECT_THAT([] { Random(1).below(0); },
              ThrowsMessage<Error>("random: below(n) needs n > 0, got 0"));
  EXPECT_THAT([] { Random(1).permutation(-3); },
              ThrowsMessage<Error>("random: permutation(n) needs n >= 0, got -3"));
}

}  // namespace
}  // namespace sparsebit::random_test
