#include "metrics/heads/candidates.h"
#include "metrics/heads/heads.h"
#include "metrics/heads/yolo_grid.h"

#include <ATen/ATen.h>

namespace sparsebit::metrics {
namespace {

bool is_yolov5(const DetectorOutputs& outputs) {
  const NamedOutput* output = only_matrix(outputs);
  return output && output->tensor.size(2) - mask_columns(outputs) > kBoxAndObjectness &&
         find_grid(outputs, output->tensor.size(1), {3, 1}).has_value();
}

Candidates decode_yolov5(const DetectorOutputs& outputs) {
  const NamedOutput* output = only_matrix(outputs);
  if (!output) wrong_form(outputs, "yolov5");
  const at::Tensor rows = rows_of(*output, "yolov5");
  const int64_t classes = rows.size(1) - kBoxAndObjectness - mask_columns(outputs);
  if (classes < 1) wrong_form(outputs, "yolov5");
  return best_class(corners_of_centered(rows.narrow(1, 0, 4)),
                    rows.narrow(1, 4, 1) * rows.narrow(1, kBoxAndObjectness, classes));
}

}  // namespace

DetectorHead yolov5_head() {
  return {.name = "yolov5",
          .form =
              "[batch, boxes, 5 + classes]: center x, center y, width, height in pixels, "
              "objectness, class probabilities (YOLOv3 to v7, YOLOX decoded)",
          .recognizes = is_yolov5,
          .decode = decode_yolov5};
}

}  // namespace sparsebit::metrics
