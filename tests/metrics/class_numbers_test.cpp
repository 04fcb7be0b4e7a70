#include "sparsebit/metrics/class_numbers.h"

#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::metrics::class_numbers_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ClassNumbers, ToPositions) {
  EXPECT_EQ(ClassNumbers(ClassNumbering::FromZero, {}).class_of(3), 3);
  EXPECT_EQ(ClassNumbers(ClassNumbering::FromOne, {}).class_of(3), 2);
  EXPECT_EQ(ClassNumbers(ClassNumbering::FromOne, {}).class_of(0), -1);
  const ClassNumbers ids(ClassNumbering::CategoryIds, {2, 5, 9});
  EXPECT_EQ(ids.class_of(9), 2);
  EXPECT_EQ(ids.class_of(3), -1);
}

/// COCO ids: person 1, traffic light 10, stop sign 13 (12 is unused), toothbrush 90, the 80th.
TEST(ClassNumbers, Coco) {
  const ClassNumbers coco(ClassNumbering::Coco91, {});
  EXPECT_EQ(coco.class_of(1), 0);
  EXPECT_EQ(coco.class_of(10), 9);
  EXPECT_EQ(coco.class_of(12), -1);
  EXPECT_EQ(coco.class_of(13), 11);
  EXPECT_EQ(coco.class_of(90), 79);
}

TEST(ClassNumbers, Guess) {
  const DetectorHead& yolo = detector_head("yolov8");
  const DetectorHead& torchvision = detector_head("torchvision");
  EXPECT_EQ(guess_numbering(yolo, 80, {}), ClassNumbering::FromZero);
  EXPECT_EQ(guess_numbering(detector_head("detr"), 91, {}), ClassNumbering::Coco91);
  EXPECT_EQ(guess_numbering(torchvision, 0, {}), ClassNumbering::FromOne);
  EXPECT_EQ(guess_numbering(yolo, 3, {1, 2, 5}), ClassNumbering::FromZero);
  EXPECT_EQ(guess_numbering(torchvision, 0, {1, 2, 5}), ClassNumbering::CategoryIds);
  EXPECT_EQ(guess_numbering(yolo, 6, {1, 2, 5}), ClassNumbering::CategoryIds);
  EXPECT_THAT(
      [&] {
        guess_numbering(yolo, 4, {1, 2, 5});
      },
      ThrowsMessage<Error>("the annotations have 3 categories with ids up to 5, but the "
                           "model has 4 classes; set their numbering with --class-numbers"));
  EXPECT_THAT([] { ClassNumbers(ClassNumbering::CategoryIds, {}); },
              ThrowsMessage<Error>(HasSubstr("the labels have none")));
}

}  // namespace
}  // namespace sparsebit::metrics::class_numbers_test
