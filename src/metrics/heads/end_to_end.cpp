#include "metrics/heads/candidates.h"
#include "metrics/heads/heads.h"

#include <ATen/ATen.h>

namespace sparsebit::metrics {
namespace {

/// Whether two columns look like scores and class numbers.
bool are_scores_and_classes(const at::Tensor& scores, const at::Tensor& classes) {
  const bool in_range = scores.ge(0).logical_and(scores.le(1)).all().item<bool>();
  return in_range && classes.eq(classes.round()).all().item<bool>();
}

const NamedOutput* only_output(const DetectorOutputs& outputs, int64_t columns) {
  if (outputs.outputs.size() != 1) return nullptr;
  const NamedOutput& output = outputs.outputs.front();
  const bool is_matrix =
      output.tensor.dim() == 2 || (output.tensor.dim() == 3 && output.tensor.size(0) == 1);
  return is_matrix && output.tensor.size(-1) == columns ? &output : nullptr;
}

// --- left, top, right, bottom, score, class ------------------------------------------------------

constexpr int64_t kColumns = 6;

bool is_end_to_end(const DetectorOutputs& outputs) {
  const NamedOutput* output = only_output(outputs, kColumns);
  if (!output) return false;
  return are_scores_and_classes(output->tensor.select(-1, 4), output->tensor.select(-1, 5));
}

Candidates decode_end_to_end(const DetectorOutputs& outputs) {
  const NamedOutput* output = only_output(outputs, kColumns);
  if (!output) wrong_form(outputs, "end-to-end");
  const at::Tensor rows = rows_of(*output, "end-to-end");
  return {rows.narrow(1, 0, 4), rows.select(1, 4), rows.select(1, 5).to(at::kLong)};
}

// --- image, left, top, right, bottom, class, score -----------------------------------------------

constexpr int64_t kColumnsWithImage = 7;

bool is_yolov7_end_to_end(const DetectorOutputs& outputs) {
  const NamedOutput* output = only_output(outputs, kColumnsWithImage);
  if (!output) return false;
  return are_scores_and_classes(output->tensor.select(-1, 6), output->tensor.select(-1, 5));
}

Candidates decode_yolov7_end_to_end(const DetectorOutputs& outputs) {
  const NamedOutput* output = only_output(outputs, kColumnsWithImage);
  if (!output) wrong_form(outputs, "yolov7-end-to-end");
  const at::Tensor rows = rows_of(*output, "yolov7-end-to-end");
  return {rows.narrow(1, 1, 4), rows.select(1, 6), rows.select(1, 5).to(at::kLong)};
}

}  // namespace

DetectorHead end_to_end_head() {
  return {.name = "end-to-end",
          .form =
              "[batch, boxes, 6] or [boxes, 6]: left, top, right, bottom in pixels, score, "
              "class, after NMS (YOLOv10, YOLO exported with NMS)",
          .recognizes = is_end_to_end,
          .decode = decode_end_to_end,
          .needs_nms = false};
}

DetectorHead yolov7_end_to_end_head() {
  return {.name = "yolov7-end-to-end",
          .form =
              "[boxes, 7]: image index, left, top, right, bottom in pixels, class, "
              "score, after NMS (YOLOv7 exported with NMS); batches of one image",
          .recognizes = is_yolov7_end_to_end,
          .decode = decode_yolov7_end_to_end,
          .needs_nms = false};
}

}  // namespace sparsebit::metrics
