#include "sparsebit/io/box_labels.h"

#include "core/temp_dir.h"
#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sparsebit::io::box_labels_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  write_file_atomically(file, text);
}

std::vector<double> corners(const LabelledBox& box) {
  return {box.left, box.top, box.right, box.bottom};
}

// --- YOLO labels ---------------------------------------------------------------------------------

TEST(YoloLabels, SharesBecomePixels) {
  const test::TempDir dir;
  write(dir / "labels/a.txt", "2 0.5 0.5 0.25 0.5\n\n0 0.1 0.2 0.3 0.2 0.3 0.6\r\n");
  const auto labels = open_box_labels(dir / "labels");
  for (const char* name : {"a.jpg", "images/a.png", "train/a.jpg"}) {
    const auto boxes = labels->of(name, 100, 200);
    ASSERT_EQ(boxes->size(), 2u) << name;
    EXPECT_EQ((*boxes)[0].label, 2);
    EXPECT_THAT(corners((*boxes)[0]), ElementsAre(75, 25, 125, 75));
    EXPECT_THAT(corners((*boxes)[1]), ElementsAre(20, 20, 60, 60));  // bounding box of a polygon
  }
  EXPECT_TRUE(labels->of("b.jpg", 10, 10)->empty());  // no label file: no objects
  EXPECT_TRUE(labels->category_ids().empty());
}

TEST(YoloLabels, ErrorsNameTheLine) {
  const test::TempDir dir;
  write(dir / "labels/a.txt", "0 0.5 0.5 0.1 0.1\n1.5 0.5 0.5 0.1 0.1\n");
  write(dir / "labels/b.txt", "0 320 240 10 10\n");
  write(dir / "labels/c.txt", "0 0.5 0.5 0.1\n");
  const auto labels = open_box_labels(dir / "labels");
  EXPECT_THAT([&] { labels->of("a.jpg", 9, 9); },
              ThrowsMessage<Error>(HasSubstr("a.txt:2: expected a class number and x, y, width and "
                                             "height of a box, found '1.5 0.5 0.5 0.1 0.1'")));
  EXPECT_THAT([&] { labels->of("b.jpg", 9, 9); },
              ThrowsMessage<Error>(HasSubstr("b.txt:1: box coordinates must be normalized to the "
                                             "image size, from 0 to 1; found 320")));
  EXPECT_THROW(labels->of("c.jpg", 9, 9), Error);
  fs::create_directories(dir / "empty");
  EXPECT_THAT([&] { open_box_labels(dir / "empty"); },
              ThrowsMessage<Error>(HasSubstr("contains no labels (.txt)")));
  EXPECT_THAT([&] { open_box_labels(dir / "none"); },
              ThrowsMessage<Error>(HasSubstr("no such file or folder")));
}

TEST(YoloLabels, AreFoundBesideTheImages) {
  const test::TempDir dir;
  write(dir / "coco/images/val/a.jpg", "");
  write(dir / "coco/labels/val/a.txt", "");
  EXPECT_EQ(box_labels_beside(dir / "coco/images"), dir / "coco/labels");
  EXPECT_EQ(box_labels_beside(dir / "coco/images/"), dir / "coco/labels");
  EXPECT_EQ(box_labels_beside(dir / "coco/images/val"), dir / "coco/labels/val");
  EXPECT_EQ(box_labels_beside(dir / "coco"), dir / "coco/labels");
  EXPECT_EQ(box_labels_beside(dir / "coco/images/train"), "");
  EXPECT_EQ(box_labels_beside(dir / "elsewhere"), "");
}

// --- COCO annotations ----------------------------------------------------------------------------

constexpr const char* kAnnotations = R"({
  "images": [{"id": 7, "file_name": "val/a.jpg", "height": 100, "width": 200}, {"id": 8, "file_name": "b.jpg"}],
  "categories": [{"id": 18, "name": "dog"}, {"id": 3, "name": "car"}],
  "annotations": [
    {"image_id": 7, "category_id": 18, "bbox": [10, 20, 30, 40], "iscrowd": 0},
    {"image_id": 7, "category_id": 3, "bbox": [0, 0, 200, 100], "iscrowd": 1}]})";

TEST(CocoAnnotations, CategoriesAreNumberedByTheirIds) {
  const test::TempDir dir;
  write(dir / "a.json", kAnnotations);
  const auto labels = open_box_labels(dir / "a.json");
  EXPECT_THAT(labels->category_ids(), ElementsAre(3, 18));
  EXPECT_THAT(labels->classes(), ElementsAre("car", "dog"));
  const auto boxes = labels->of("a.jpg", 100, 200);
  ASSERT_EQ(boxes->size(), 2u);
  EXPECT_EQ((*boxes)[0].label, 1);
  EXPECT_THAT(corners((*boxes)[0]), ElementsAre(10, 20, 40, 60));
  EXPECT_TRUE((*boxes)[1].is_crowd);
  EXPECT_TRUE(labels->of("b.jpg", 5, 5)->empty());
  EXPECT_FALSE(labels->of("c.jpg", 5, 5));
}

TEST(CocoAnnotations, SmallerCopiesOfImages) {
  const test::TempDir dir;
  write(dir / "a.json", kAnnotations);
  const auto boxes = open_box_labels(dir / "a.json")->of("val/a.jpg", 50, 100);
  EXPECT_THAT(corners((*boxes)[0]), ElementsAre(5, 10, 20, 30));
}

TEST(CocoAnnotations, ErrorsNameThePlace) {
  const test::TempDir dir;
  const auto expect_error = [&](const std::string& text, const std::string& error) {
    write(dir / "a.json", text);
    EXPECT_THAT([&] { open_box_labels(dir / "a.json"); }, ThrowsMessage<Error>(HasSubstr(error)));
  };
  const std::string start =
      R"({"images": [{"id": 1, "file_name": "a"}], "categories": [{"id": 2}], "annotations": [)";
  expect_error("[1, 2]", "not COCO annotations; expected a JSON object with the keys images,");
  expect_error(start + R"({"image_id": 9, "category_id": 2, "bbox": [0, 0, 1, 1]}]})",
               "annotations[0]: unknown image_id");
  expect_error(start + R"({"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}]})",
               "annotations[0]: unknown category_id");
  expect_error(start + R"({"image_id": 1, "category_id": 2, "bbox": [0, 0, 1]}]})",
               "annotations[0]: expected bbox: [left, top, width, height]");
  expect_error(start + R"({"image_id": 1, "category_id": "x"}]})",
               "a.json: annotations[0].category_id: expected a whole number, found a string");
  expect_error(start + R"({"image_id": 1, "category_id": 2}]})",
               "a.json: annotations[0]: the key 'bbox' is missing");
  expect_error(R"({"images": [{"id": 1, "file_name": 7}], "categories": [], "annotations": []})",
               "a.json: images[0].file_name: expected a string, found a whole number");
  expect_error(R"({"images": 3, "categories": [], "annotations": []})",
               "a.json: images: expected a list, found a whole number");
  expect_error("{\n\"images\": [", "a.json:2: not valid JSON");
}

}  // namespace
}  // namespace sparsebit::io::box_labels_test
