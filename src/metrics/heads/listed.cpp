#include "metrics/heads/candidates.h"
#include "metrics/heads/heads.h"

#include <ATen/ATen.h>

#include <algorithm>

// Heads with NMS in the model, and separate outputs for boxes, scores and classes.

namespace sparsebit::metrics {
namespace {

struct ListedOutputs {
  const NamedOutput* boxes = nullptr;
  const NamedOutput* scores = nullptr;
  const NamedOutput* labels = nullptr;
  const NamedOutput* count = nullptr;  ///< number of valid boxes; null: all are valid

  bool are_complete() const { return boxes && scores && labels; }
};

/// Whether a tensor has one value per box.
bool is_list(const at::Tensor& tensor, int64_t boxes) {
  return tensor.numel() == boxes && tensor.dim() >= 1 && tensor.size(-1) == boxes;
}

/// Finds the outputs by name, shape and type, because exporters often only number them.
ListedOutputs find_lists(const DetectorOutputs& outputs) {
  ListedOutputs found;
  for (const NamedOutput& output : outputs.outputs) {
    const at::Tensor& tensor = output.tensor;
    if (!found.boxes && tensor.dim() >= 2 && tensor.size(-1) == 4 && tensor.numel() % 4 == 0)
      found.boxes = &output;
  }
  if (!found.boxes) return found;
  const int64_t boxes = found.boxes->tensor.numel() / 4;
  found.count = output_with_name(outputs, {"num"});
  if (found.count && found.count->tensor.numel() != 1) found.count = nullptr;
  found.scores = output_with_name(outputs, {"score", "conf"});
  found.labels = output_with_name(outputs, {"label", "class"});
  for (const NamedOutput& output : outputs.outputs) {
    if (&output == found.boxes || &output == found.count || !is_list(output.tensor, boxes))
      continue;
    const bool is_free = &output != found.scores && &output != found.labels;
    if (is_free && !found.labels && !output.tensor.is_floating_point()) found.labels = &output;
    if (is_free && !found.scores && output.tensor.is_floating_point()) found.scores = &output;
  }
  if (found.scores && !is_list(found.scores->tensor, boxes)) found.scores = nullptr;
  if (found.labels && !is_list(found.labels->tensor, boxes)) found.labels = nullptr;
  return found;
}

Candidates candidates_of(const DetectorOutputs& outputs, const std::string& head) {
  const ListedOutputs found = find_lists(outputs);
  if (!found.are_complete()) wrong_form(outputs, head);
  const at::Tensor boxes = found.boxes->tensor.reshape({-1, 4});
  int64_t count = boxes.size(0);
  if (found.count) count = std::clamp<int64_t>(found.count->tensor.item<double>(), 0, count);
  return {boxes.narrow(0, 0, count), found.scores->tensor.flatten().narrow(0, 0, count),
          found.labels->tensor.flatten().narrow(0, 0, count).to(at::kLong)};
}

/// Whether boxes are normalized to the input size: in pixels, coordinates would exceed 2.
bool are_shares(const at::Tensor& boxes) {
  return boxes.numel() > 0 && boxes.abs().max().item<double>() <= 2;
}

bool is_tensorflow(const DetectorOutputs& outputs) {
  return find_lists(outputs).are_complete() && output_with_name(outputs, {"detection_boxes"});
}

Candidates decode_tensorflow(const DetectorOutputs& outputs) {
  Candidates candidates = candidates_of(outputs, "tensorflow");
  const at::Tensor order = at::tensor({1, 0, 3, 2}, at::kLong);  // y before x
  candidates.boxes = in_pixels(candidates.boxes.index_select(1, order), outputs);
  return candidates;
}

bool is_efficient_nms(const DetectorOutputs& outputs) {
  return find_lists(outputs).are_complete() && output_with_name(outputs, {"num_det"}) &&
         output_with_name(outputs, {"det_boxes"});
}

Candidates decode_efficient_nms(const DetectorOutputs& outputs) {
  return candidates_of(outputs, "efficient-nms");
}

bool is_torchvision(const DetectorOutputs& outputs) { return find_lists(outputs).are_complete(); }

Candidates decode_torchvision(const DetectorOutputs& outputs) {
  Candidates candidates = candidates_of(outputs, "torchvision");
  if (are_shares(candidates.boxes)) candidates.boxes = in_pixels(candidates.boxes, outputs);
  return candidates;
}

}  // namespace

DetectorHead tensorflow_head() {
  return {.name = "tensorflow",
          .form =
              "detection_boxes (top, left, bottom, right, normalized), detection_scores, "
              "detection_classes, num_detections, after NMS (TensorFlow's object detection)",
          .recognizes = is_tensorflow,
          .decode = decode_tensorflow,
          .needs_nms = false,
          .background_is_zero = true};
}

DetectorHead efficient_nms_head() {
  return {.name = "efficient-nms",
          .form =
              "num_dets, det_boxes (left, top, right, bottom in pixels), det_scores, "
              "det_classes (TensorRT's EfficientNMS)",
          .recognizes = is_efficient_nms,
          .decode = decode_efficient_nms,
          .needs_nms = false};
}

DetectorHead torchvision_head() {
  return {.name = "torchvision",
          .form =
              "boxes [n, 4] (left, top, right, bottom in pixels or normalized), scores [n], "
              "labels [n], after NMS (torchvision's detectors, SSD)",
          .recognizes = is_torchvision,
          .decode = decode_torchvision,
          .needs_nms = false,
          .background_is_zero = true};
}

}  // namespace sparsebit::metrics
