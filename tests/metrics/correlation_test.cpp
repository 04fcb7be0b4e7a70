#include "sparsebit/metrics/correlation.h"

#include "sparsebit/core/error.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::metrics::correlation_test {
namespace {

/// Anscombe's first set, whose correlation is published as 0.816; ranks by hand.
TEST(Correlation, PublishedNumbers) {
  const std::vector<double> x = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
  const std::vector<double> y = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
  EXPECT_NEAR(pearson(x, y), 0.81642, 1e-5);
  EXPECT_NEAR(spearman(x, y), 0.81818, 1e-5);
}

/// Ranks of y: 0, 1.5, 1.5, 3; d = 0, -0.5, 0.5, 0.
TEST(Correlation, EqualNumbersShareARank) {
  EXPECT_NEAR(spearman({1, 2, 3, 4}, {10, 20, 20, 30}), 0.94868, 1e-5);
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3}, {1, 10, 1000}), 1);
  EXPECT_DOUBLE_EQ(spearman({1, 2, 3}, {3, 2, 1}), -1);
}

TEST(Correlation, ConstantsHaveNone) {
  EXPECT_TRUE(std::isnan(pearson({1, 1, 1}, {1, 2, 3})));
  EXPECT_TRUE(std::isnan(spearman({1, 2, 3}, {5, 5, 5})));
  EXPECT_TRUE(std::isnan(pearson({1}, {1})));
  EXPECT_TRUE(std::isnan(spearman({1, NAN, 3}, {1, 2, 3})));
  EXPECT_THROW(pearson({1, 2}, {1}), Error);
}

}  // namespace
}  // namespace sparsebit::metrics::correlation_test
