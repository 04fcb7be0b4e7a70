#include "sparsebit/metrics/detector_head.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sparsebit::metrics::detector_head_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int64_t kSide = 64;  // cells of stride 8, 16 and 32: 64 + 16 + 4
constexpr int64_t kCells = 84, kClasses = 3;

/// Expects the output of every head below: an object of class 1 at 8..24 x 16..48, score 0.72.
void expect_object(const DetectorOutputs& outputs, const std::string& head, int64_t label = 1) {
  const DetectorHead& recognized = recognize_head(outputs);
  EXPECT_EQ(recognized.name, head);
  const auto found = select_detections(recognized.decode(outputs), recognized, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].label, label);
  EXPECT_NEAR(found[0].score, 0.72, 1e-6);
  EXPECT_NEAR(found[0].box.left, 8, 1e-4);
  EXPECT_NEAR(found[0].box.top, 16, 1e-4);
  EXPECT_NEAR(found[0].box.right, 24, 1e-4);
  EXPECT_NEAR(found[0].box.bottom, 48, 1e-4);
}

DetectorOutputs outputs_of(std::vector<NamedOutput> outputs) {
  return {std::move(outputs), kSide, kSide};
}

/// Boxes across the image with score 0, and the object: center 16, 32, size 16 x 32.
at::Tensor centered_rows(int64_t rows, int64_t columns) {
  at::Tensor result = at::zeros({1, rows, columns});
  result.narrow(2, 0, 2).fill_(32);
  result.narrow(2, 2, 2).fill_(8);
  result[0][5].narrow(0, 0, 4).copy_(at::tensor({16.f, 32.f, 16.f, 32.f}));
  return result;
}

TEST(DetectorHead, Yolov5) {
  at::Tensor rows = centered_rows(3 * kCells, 5 + kClasses);
  rows[0][5].narrow(0, 4, 4).copy_(at::tensor({0.9f, 0.1f, 0.8f, 0.2f}));
  expect_object(outputs_of({{"output0", rows}}), "yolov5");
  // Additional feature maps, as in older exports, are ignored.
  expect_object(outputs_of({{"output", rows}, {"map", at::zeros({1, 3, 8, 8, 8})}}), "yolov5");
}

TEST(DetectorHead, Yolov8) {
  at::Tensor rows = centered_rows(kCells, 4 + kClasses);
  rows[0][5].narrow(0, 4, 3).copy_(at::tensor({0.1f, 0.72f, 0.2f}));
  expect_object(outputs_of({{"output0", rows.transpose(1, 2)}}), "yolov8");
}

/// The last columns are mask coefficients, not classes.
TEST(DetectorHead, Yolov8ThatSegments) {
  at::Tensor rows = centered_rows(kCells, 4 + kClasses + 2);
  rows[0][5].narrow(0, 4, 5).copy_(at::tensor({0.1f, 0.72f, 0.2f, 5.f, 7.f}));
  expect_object(
      outputs_of({{"output0", rows.transpose(1, 2)}, {"output1", at::zeros({1, 2, 16, 16})}}),
      "yolov8");
}

/// Cell 69 is the second in the second row of stride 16: its corner is at 16, 16.
TEST(DetectorHead, Yolox) {
  at::Tensor rows = at::zeros({1, kCells, 5 + kClasses});
  rows[0][69].copy_(at::tensor({0.f, 1.f, 0.f, std::log(2.f), 0.9f, 0.1f, 0.8f, 0.2f}));
  expect_object(outputs_of({{"output", rows}}), "yolox");
}

/// The same boxes decoded, and YOLOv6.
TEST(DetectorHead, YoloxDecoded) {
  at::Tensor rows = centered_rows(kCells, 5 + kClasses);
  rows[0][5].narrow(0, 4, 4).copy_(at::tensor({0.9f, 0.1f, 0.8f, 0.2f}));
  expect_object(outputs_of({{"output", rows}}), "yolov5");
}

TEST(DetectorHead, AfterNms) {
  const at::Tensor row = at::tensor({8.f, 16.f, 24.f, 48.f, 0.72f, 1.f}).reshape({1, 6});
  const at::Tensor padded = at::cat({row, at::zeros({299, 6})});
  expect_object(outputs_of({{"output0", padded.unsqueeze(0)}}), "end-to-end");
  expect_object(outputs_of({{"output0", row}}), "end-to-end");
  const at::Tensor with_image =
      at::tensor({0.f, 8.f, 16.f, 24.f, 48.f, 1.f, 0.72f}).reshape({1, 7});
  expect_object(outputs_of({{"output", with_image}}), "yolov7-end-to-end");
}

TEST(DetectorHead, Torchvision) {
  const at::Tensor boxes = at::tensor({8.f, 16.f, 24.f, 48.f}).reshape({1, 4});
  const at::Tensor score = at::tensor({0.72f}), label = at::tensor({1}, at::kLong);
  expect_object(outputs_of({{"boxes", boxes}, {"labels", label}, {"scores", score}}),
                "torchvision");
  expect_object(outputs_of({{"2589", boxes}, {"2590", score}, {"2591", label}}), "torchvision");
  expect_object(outputs_of({{"bboxes", (boxes / kSide).unsqueeze(0)},
                            {"labels", label.unsqueeze(0)},
                            {"scores", score.unsqueeze(0)}}),
                "torchvision");
}

TEST(DetectorHead, TensorFlowAndTensorRt) {
  const at::Tensor boxes = at::tensor({16.f, 8.f, 48.f, 24.f, 0.f, 0.f, 64.f, 64.f}) / kSide;
  const at::Tensor scores = at::tensor({0.72f, 0.5f}).reshape({1, 2});
  const at::Tensor labels = at::tensor({1.f, 1.f}).reshape({1, 2});
  expect_object(outputs_of({{"detection_boxes:0", boxes.reshape({1, 2, 4})},
                            {"detection_classes:0", labels},
                            {"detection_scores:0", scores},
                            {"num_detections:0", at::tensor({1.f})}}),
                "tensorflow");
  const at::Tensor pixels = at::tensor({8.f, 16.f, 24.f, 48.f, 0.f, 0.f, 64.f, 64.f});
  expect_object(outputs_of({{"num_dets", at::tensor({1}, at::kInt).reshape({1, 1})},
                            {"det_boxes", pixels.reshape({1, 2, 4})},
                            {"det_scores", scores},
                            {"det_classes", labels.to(at::kInt)}}),
                "efficient-nms");
}

TEST(DetectorHead, SsdBeforeNms) {
  const at::Tensor boxes =
      at::tensor({8.f, 16.f, 24.f, 48.f, 8.f, 17.f, 24.f, 48.f}).reshape({1, 2, 4}) / kSide;
  const at::Tensor scores = at::tensor({0.28f, 0.72f, 0.f, 0.4f, 0.6f, 0.f}).reshape({1, 2, 3});
  expect_object(outputs_of({{"scores", scores}, {"boxes", boxes}}), "ssd");
}

TEST(DetectorHead, Detr) {
  const at::Tensor boxes =
      at::tensor({16.f, 32.f, 16.f, 32.f}).reshape({1, 1, 4}).repeat({1, 10, 1}) / kSide;
  at::Tensor logits = at::full({1, 10, 4}, -20.f);  // three classes and "no object"
  logits.select(2, 3).fill_(20);
  logits[0][0].copy_(at::tensor({-30.f, std::log(0.72f), -30.f, std::log(0.28f)}));
  expect_object(outputs_of({{"logits", logits}, {"pred_boxes", boxes}}), "detr");
  at::Tensor sigmoids = at::full({1, 10, 3}, -20.f);
  sigmoids[0][0][1] = std::log(0.72f / 0.28f);
  expect_object(outputs_of({{"logits", sigmoids}, {"pred_boxes", boxes}}), "rt-detr");
}

TEST(DetectorHead, UnknownFormsAreAnErrorThatListsTheKnownOnes) {
  EXPECT_THAT(
      [] {
        recognize_head(outputs_of({{"probabilities", at::zeros({1, 1000})}}));
      },
      ThrowsMessage<Error>(testing::AllOf(
          testing::StartsWith("mAP needs the outputs of a known detector head; the model outputs "
                              "probabilities [1, 1000] for an input of 64x64. Known heads:"
                              "\n  yolox: [batch, cells, 5 + classes]"),
          HasSubstr("\n  yolov8: [batch, 4 + classes, boxes]"), HasSubstr("\n  rt-detr: logits"))));
  EXPECT_THAT([] { detector_head("yolo9000"); },
              ThrowsMessage<Error>(HasSubstr("unknown detector head 'yolo9000'")));
}

/// Outputs that do not fit the head named by the user.
TEST(DetectorHead, OutputsOfAnotherFormAreAnError) {
  const DetectorOutputs outputs = outputs_of({{"probabilities", at::zeros({1, 1000})}});
  for (const DetectorHead& head : detector_heads()) {
    EXPECT_THAT(
        [&] { head.decode(outputs); },
        ThrowsMessage<Error>(HasSubstr("the model outputs probabilities [1, 1000], but the head '" +
                                       head.name + "' needs: ")));
  }
}

/// NaN outputs of a broken model give no detections.
TEST(DetectorHead, SelectsByScore) {
  const Candidates candidates{
      at::tensor({0.f, 0.f, 9.f, 9.f, 0.f, NAN, 9.f, 9.f, 20.f, 0.f, 30.f, 9.f}).reshape({3, 4}),
      at::tensor({0.005f, 0.9f, 0.5f}), at::zeros({3}, at::kLong)};
  const auto found = select_detections(candidates, detector_head("yolov8"), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box.left, 20);
}

}  // namespace
}  // namespace sparsebit::metrics::detector_head_test
