#include "sparsebit/metrics/output_similarity.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sparsebit::metrics::output_similarity_test {
namespace {

TEST(OutputSimilarity, ByHand) {
  OutputSimilarity meter;
  const at::Tensor expected = at::tensor({3.f, 4.f, 0.f, 2.f}).reshape({2, 2});
  const at::Tensor found = at::tensor({4.f, 3.f, 0.f, 1.f}).reshape({2, 2});
  meter.add(expected, found, 2);
  const Similarity result = meter.result();
  EXPECT_EQ(result.samples, 2);
  EXPECT_NEAR(result.cosine, (24. / 25 + 1) / 2, 1e-12);
  EXPECT_NEAR(result.snr_db, 10 * std::log10(29. / 3), 1e-9);
  EXPECT_DOUBLE_EQ(result.largest_difference, 1);
  EXPECT_DOUBLE_EQ(*result.same_top1, 0.5);
}

TEST(OutputSimilarity, EqualOutputsHaveNoNoise) {
  OutputSimilarity meter;
  const at::Tensor infinite = at::tensor({1.f, -std::numeric_limits<float>::infinity()});
  meter.add(infinite, infinite, 1);
  EXPECT_EQ(meter.result().snr_db, std::numeric_limits<double>::infinity());
  EXPECT_EQ(meter.result().cosine, 1);
  EXPECT_EQ(meter.result().largest_difference, 0);
  EXPECT_FALSE(meter.result().same_top1);
}

TEST(OutputSimilarity, NumbersThatAreNoneAreInfinitelyFar) {
  OutputSimilarity meter;
  meter.add(at::tensor({1.f, 2.f}), at::tensor({1.f, NAN}), 1);
  EXPECT_EQ(meter.result().largest_difference, std::numeric_limits<double>::infinity());
  EXPECT_EQ(meter.result().snr_db, -std::numeric_limits<double>::infinity());
}

/// The number of boxes of detectors with NMS may differ.
TEST(OutputSimilarity, OtherShapesAreCountedAndLeftOut) {
  OutputSimilarity meter;
  meter.add(at::ones({3, 4}), at::ones({2, 4}), 1);
  meter.add(at::ones({3, 4}), at::ones({3, 4}), 1);
  EXPECT_EQ(meter.result().other_shapes, 1);
  EXPECT_EQ(meter.result().samples, 1);
}

/// The result does not depend on the batch size.
TEST(OutputSimilarity, BatchesAddUp) {
  const at::Tensor expected = at::arange(12, at::kFloat).reshape({4, 3});
  const at::Tensor found = expected + at::tensor({0.5f, -1.f, 0.25f});
  OutputSimilarity together, apart;
  together.add(expected, found, 4);
  for (int64_t i = 0; i < 4; ++i) apart.add(expected.narrow(0, i, 1), found.narrow(0, i, 1), 1);
  EXPECT_DOUBLE_EQ(together.result().cosine, apart.result().cosine);
  EXPECT_DOUBLE_EQ(together.result().snr_db, apart.result().snr_db);
  EXPECT_EQ(together.result().same_top1, apart.result().same_top1);
}

}  // namespace
}  // namespace sparsebit::metrics::output_similarity_test
