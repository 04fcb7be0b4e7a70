#include "sparsebit/metrics/nms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::metrics::nms_test {
namespace {

using testing::ElementsAre;

std::vector<double> scores(const std::vector<Detection>& detections) {
  std::vector<double> result;
  for (const Detection& detection : detections) result.push_back(detection.score);
  return result;
}

TEST(Nms, TheBestOfOverlappingBoxesOfAClassStays) {
  const std::vector<Detection> found = {
      {{0, 0, 10, 10}, 0.5, 0},
      {{0, 0, 10, 9}, 0.8, 0},    // overlaps the first by 0.9
      {{0, 0, 10, 10}, 0.6, 1},   // another class
      {{20, 0, 30, 10}, 0.1, 0},  // elsewhere
  };
  EXPECT_THAT(scores(suppress_overlaps(found, 0.65)), ElementsAre(0.8, 0.6, 0.1));
  EXPECT_THAT(scores(suppress_overlaps(found, 0.95)), ElementsAre(0.8, 0.6, 0.5, 0.1));
}

/// A suppressed box does not suppress others.
TEST(Nms, OnlyBoxesThatStaySuppress) {
  const std::vector<Detection> found = {
      {{0, 0, 10, 10}, 0.9, 0}, {{4, 0, 14, 10}, 0.8, 0}, {{8, 0, 18, 10}, 0.7, 0}};
  EXPECT_THAT(scores(suppress_overlaps(found, 0.4)), ElementsAre(0.9, 0.7));
}

TEST(Nms, OfEqualScoresTheFirstStays) {
  const std::vector<Detection> found = {{{0, 0, 10, 10}, 0.5, 0}, {{1, 0, 10, 10}, 0.5, 0}};
  const auto kept = suppress_overlaps(found, 0.5);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].box.left, 0);
}

}  // namespace
}  // namespace sparsebit::metrics::nms_test
