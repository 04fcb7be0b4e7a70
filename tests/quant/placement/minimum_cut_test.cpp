#include "quant/placement/minimum_cut.h"

#include <gtest/gtest.h>

#include <random>

namespace sparsebit::quant::minimum_cut_test {
namespace {

TEST(MinimumCut, ItemsTakeTheCheaperSide) {
  MinimumCut cut;
  const int a = cut.add_item(), b = cut.add_item(), c = cut.add_item();
  cut.add_cost(a, 1, 5);
  cut.add_cost(b, 5, 1);
  cut.add_cost(c, 3, 3);  // a tie: integers
  const std::vector<bool> sides = cut.solve();
  EXPECT_TRUE(sides[a] && !sides[b] && sides[c]);
  EXPECT_EQ(cut.cost(), 1 + 1 + 3);
}

TEST(MinimumCut, ACostBetweenKeepsThemTogether) {
  MinimumCut cut;
  const int a = cut.add_item(), b = cut.add_item();
  cut.add_cost(a, 1, 5);
  cut.add_cost(b, 4, 1);
  cut.add_cost_between(a, b, 10);
  const std::vector<bool> sides = cut.solve();
  EXPECT_TRUE(sides[a] && sides[b]);
  EXPECT_EQ(cut.cost(), 1 + 4);
}

struct Pair {
  int integer, floating;
  int64_t cost;
};

/// Against all 2^n divisions.
TEST(MinimumCut, IsTheLeastOfAllDivisions) {
  std::mt19937 random(1);
  const auto number = [&](int most) { return static_cast<int64_t>(random() % (most + 1)); };
  for (int trial = 0; trial < 200; ++trial) {
    constexpr int kItems = 7;
    MinimumCut cut;
    std::vector<std::pair<int64_t, int64_t>> costs;
    std::vector<Pair> pairs;
    std::vector<int> items;
    for (int i = 0; i < kItems; ++i) {
      costs.emplace_back(number(20), number(20));
      items.push_back(cut.add_item());
      cut.add_cost(items.back(), costs.back().first, costs.back().second);
    }
    for (int i = 0; i < 10; ++i) {
      pairs.push_back(
          {static_cast<int>(number(kItems - 1)), static_cast<int>(number(kItems - 1)), number(15)});
      cut.add_cost_between(items[pairs.back().integer], items[pairs.back().floating],
                           pairs.back().cost);
    }
    const auto total = [&](auto is_integer) {
      int64_t sum = 0;
      for (int i = 0; i < kItems; ++i) sum += is_integer(i) ? costs[i].first : costs[i].second;
      for (const Pair& pair : pairs)
        sum += is_integer(pair.integer) && !is_integer(pair.floating) ? pair.cost : 0;
      return sum;
    };
    const std::vector<bool> found = cut.solve();
    int64_t least = INT64_MAX;
    for (unsigned division = 0; division < (1u << kItems); ++division)
      least = std::min(least, total([&](int i) { return (division >> i & 1) != 0; }));
    EXPECT_EQ(total([&](int i) { return found[static_cast<size_t>(items[i])]; }), least);
    EXPECT_EQ(cut.cost(), least);
  }
}

}  // namespace
}  // namespace sparsebit::quant::minimum_cut_test
