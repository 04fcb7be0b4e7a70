#include "sparsebit/metrics/boxes.h"

#include <gtest/gtest.h>

namespace sparsebit::metrics::boxes_test {
namespace {

TEST(Boxes, IntersectionOverUnion) {
  const Box box{0, 0, 10, 10};
  EXPECT_DOUBLE_EQ(intersection_over_union(box, box), 1);
  EXPECT_DOUBLE_EQ(intersection_over_union(box, {5, 0, 15, 10}), 50. / 150);
  EXPECT_DOUBLE_EQ(intersection_over_union(box, {10, 0, 20, 10}), 0);  // they only touch
  EXPECT_DOUBLE_EQ(intersection_over_union(box, {3, 3, 3, 3}), 0);
  EXPECT_DOUBLE_EQ(intersection(box, {-5, -5, 4, 2}), 8);
}

}  // namespace
}  // namespace sparsebit::metrics::boxes_test
