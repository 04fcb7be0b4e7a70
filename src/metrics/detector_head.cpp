#include "sparsebit/metrics/detector_head.h"

#include "metrics/heads/heads.h"

#include "sparsebit/core/error.h"
#include "sparsebit/metrics/nms.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace sparsebit::metrics {
namespace {

constexpr int64_t kMostCandidates = 10'000;

/// `what`, and the known heads on the lines below.
Error with_known_heads(const std::string& what) {
  Error error(ErrorKind::InvalidArgument, what);
  for (const DetectorHead& head : detector_heads()) error.add_context(head.name + ": " + head.form);
  return error;
}

/// The candidates above the score threshold, highest scores first.
std::vector<Detection> best_of(const Candidates& candidates, double least_score) {
  const at::Tensor all = candidates.scores.to(at::kDouble);
  const at::Tensor rows = all.gt(least_score).nonzero().flatten();
  const at::Tensor boxes = candidates.boxes.index_select(0, rows).to(at::kDouble).contiguous();
  const at::Tensor scores = all.index_select(0, rows).contiguous();
  const at::Tensor labels = candidates.labels.index_select(0, rows).to(at::kLong).contiguous();
  const double* corner = boxes.data_ptr<double>();
  std::vector<Detection> detections;
  for (int64_t i = 0; i < rows.numel(); ++i, corner += 4) {
    if (!std::all_of(corner, corner + 4, [](double x) { return std::isfinite(x); })) continue;
    detections.push_back({{corner[0], corner[1], corner[2], corner[3]},
                          scores.data_ptr<double>()[i],
                          labels.data_ptr<int64_t>()[i]});
  }
  sort_by_score(detections);
  if (std::ssize(detections) > kMostCandidates) detections.resize(kMostCandidates);
  return detections;
}

}  // namespace

const std::vector<DetectorHead>& detector_heads() {
  static const std::vector<DetectorHead> heads = {
      yolox_head(),
      yolov5_head(),
      yolov8_head(),
      end_to_end_head(),
      yolov7_end_to_end_head(),
      tensorflow_head(),
      efficient_nms_head(),
      torchvision_head(),
      detr_head(),
      rt_detr_head(),
      ssd_head(),
  };
  return heads;
}

const DetectorHead& detector_head(const std::string& name) {
  for (const DetectorHead& head : detector_heads()) {
    if (head.name == name) return head;
  }
  throw with_known_heads("unknown detector head '" + name + "'; known heads:");
}

const DetectorHead& recognize_head(const DetectorOutputs& outputs) {
  for (const DetectorHead& head : detector_heads()) {
    if (head.recognizes(outputs)) return head;
  }
  throw with_known_heads("mAP needs the outputs of a known detector head; the model outputs " +
                         describe(outputs.outputs) + " for an input of " +
                         std::to_string(outputs.height) + "x" + std::to_string(outputs.width) +
                         ". Known heads:");
}

std::vector<Detection> select_detections(const Candidates& candidates, const DetectorHead& head,
                                         const SelectionOptions& options) {
  std::vector<Detection> best = best_of(candidates, options.least_score);
  return head.needs_nms ? suppress_overlaps(std::move(best), options.most_overlap) : best;
}

}  // namespace sparsebit::metrics
