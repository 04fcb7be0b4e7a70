#include "metrics/heads/candidates.h"
#include "metrics/heads/heads.h"
#include "metrics/heads/yolo_grid.h"

#include <ATen/ATen.h>

namespace sparsebit::metrics {
namespace {

constexpr int64_t kBox = 4;

bool is_yolov8(const DetectorOutputs& outputs) {
  const NamedOutput* output = only_matrix(outputs);
  return output && output->tensor.size(1) - mask_columns(outputs) > kBox &&
         find_grid(outputs, output->tensor.size(2), {1}).has_value();
}

Candidates decode_yolov8(const DetectorOutputs& outputs) {
  const NamedOutput* output = only_matrix(outputs);
  if (!output) wrong_form(outputs, "yolov8");
  const at::Tensor rows = rows_of(*output, "yolov8").t();
  const int64_t classes = rows.size(1) - kBox - mask_columns(outputs);
  if (classes < 1) wrong_form(outputs, "yolov8");
  return best_class(corners_of_centered(rows.narrow(1, 0, kBox)), rows.narrow(1, kBox, classes));
}

}  // namespace

DetectorHead yolov8_head() {
  return {.name = "yolov8",
          .form =
              "[batch, 4 + classes, boxes]: center x, center y, width, height in pixels, "
              "class probabilities (YOLOv8, YOLOv9, YOLO11)",
          .recognizes = is_yolov8,
          .decode = decode_yolov8};
}

}  // namespace sparsebit::metrics
