#include "metrics/heads/candidates.h"
#include "metrics/heads/heads.h"

#include <ATen/ATen.h>

namespace sparsebit::metrics {
namespace {

struct DetrOutputs {
  const NamedOutput* boxes = nullptr;
  const NamedOutput* logits = nullptr;

  bool fit() const {
    return boxes && logits && boxes->tensor.dim() == 3 && logits->tensor.dim() == 3 &&
           boxes->tensor.size(2) == 4 && boxes->tensor.size(1) == logits->tensor.size(1);
  }
};

DetrOutputs find_detr_outputs(const DetectorOutputs& outputs) {
  return {output_with_name(outputs, {"pred_boxes", "box"}), output_with_name(outputs, {"logits"})};
}

/// Whether the last class is "no object": then it is the most probable class of most queries.
bool has_no_object_class(const at::Tensor& logits) {
  const at::Tensor is_last = logits.argmax(-1).eq(logits.size(-1) - 1);
  return logits.size(-1) > 1 && is_last.to(at::kFloat).mean().item<double>() > 0.5;
}

bool is_detr(const DetectorOutputs& outputs) {
  const DetrOutputs found = find_detr_outputs(outputs);
  return found.fit() && has_no_object_class(found.logits->tensor);
}

bool is_rt_detr(const DetectorOutputs& outputs) { return find_detr_outputs(outputs).fit(); }

at::Tensor boxes_of(const DetrOutputs& found, const DetectorOutputs& outputs) {
  return in_pixels(corners_of_centered(rows_of(*found.boxes, "detr")), outputs);
}

Candidates decode_detr(const DetectorOutputs& outputs) {
  const DetrOutputs found = find_detr_outputs(outputs);
  if (!found.fit()) wrong_form(outputs, "detr");
  const at::Tensor scores = rows_of(*found.logits, "detr").softmax(1);
  return best_class(boxes_of(found, outputs), scores.narrow(1, 0, scores.size(1) - 1));
}

Candidates decode_rt_detr(const DetectorOutputs& outputs) {
  const DetrOutputs found = find_detr_outputs(outputs);
  if (!found.fit()) wrong_form(outputs, "rt-detr");
  return every_class(boxes_of(found, outputs), rows_of(*found.logits, "rt-detr").sigmoid());
}

}  // namespace

DetectorHead detr_head() {
  return {.name = "detr",
          .form =
              "logits [batch, queries, classes + 1], the last for no object, and pred_boxes "
              "[batch, queries, 4] (center x, center y, width, height, normalized) (DETR, "
              "YOLOS)",
          .recognizes = is_detr,
          .decode = decode_detr,
          .needs_nms = false};
}

DetectorHead rt_detr_head() {
  return {.name = "rt-detr",
          .form =
              "logits [batch, queries, classes] and pred_boxes as for detr (RT-DETR, "
              "Deformable DETR)",
          .recognizes = is_rt_detr,
          .decode = decode_rt_detr,
          .needs_nms = false};
}

}  // namespace sparsebit::metrics
