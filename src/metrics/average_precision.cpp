#include "sparsebit/metrics/average_precision.h"

#include "sparsebit/core/error.h"
#include "sparsebit/metrics/nms.h"

#include <algorithm>

namespace sparsebit::metrics {
namespace {

constexpr size_t kMostDetections = 100;
constexpr size_t kRecalls = 101;

/// COCO's overlap: a detection that lies inside a crowd overlaps it fully.
double overlap(const Box& found, const TrueBox& truth) {
  if (!truth.is_crowd) return intersection_over_union(found, truth.box);
  const double area = found.area();
  return area > 0 ? intersection(found, truth.box) / area : 0;
}

/// Element `index` of linspace(first, last, count), rounded exactly as numpy.linspace(): recalls
/// are often equal to an element, and then the last bit matters.
double evenly_spaced(double first, double last, size_t count, size_t index) {
  const double step = (last - first) / static_cast<double>(count - 1);
  return index + 1 == count ? last : static_cast<double>(index) * step + first;
}

template <class Boxes>
std::map<int64_t, Boxes> by_label(const Boxes& boxes) {
  std::map<int64_t, Boxes> groups;
  for (const auto& box : boxes) groups[box.label].push_back(box);
  return groups;
}

}  // namespace

double AveragePrecision::threshold(size_t index) {
  return evenly_spaced(0.5, 0.95, kThresholds, index);
}

/// @param found  detections of one class, highest scores first.
/// @param truth  ground truth of the class, crowds last.
void AveragePrecision::judge(size_t threshold_index, const std::vector<Detection>& found,
                             const std::vector<TrueBox>& truth, std::vector<Judged>& judged) {
  std::vector<bool> is_taken(truth.size(), false);
  for (size_t d = 0; d < found.size(); ++d) {
    double best = std::min(threshold(threshold_index), 1 - 1e-10);
    size_t match = truth.size();
    for (size_t t = 0; t < truth.size(); ++t) {
      if (is_taken[t] && !truth[t].is_crowd) continue;
      // Crowds come last: match one only when no single object matches.
      if (match < truth.size() && !truth[match].is_crowd && truth[t].is_crowd) break;
      const double shared = overlap(found[d].box, truth[t]);
      if (shared < best) continue;
      best = shared;
      match = t;
    }
    if (match == truth.size()) continue;
    is_taken[match] = true;
    judged[d].is_true.set(threshold_index, !truth[match].is_crowd);
    judged[d].is_ignored.set(threshold_index, truth[match].is_crowd);
  }
}

void AveragePrecision::add(const std::vector<Detection>& found, const std::vector<TrueBox>& truth) {
  ++images_;
  std::map<int64_t, std::vector<TrueBox>> true_boxes = by_label(truth);
  std::map<int64_t, std::vector<Detection>> detections = by_label(found);
  for (auto& [label, boxes] : true_boxes) {
    std::stable_partition(boxes.begin(), boxes.end(), [](const TrueBox& b) { return !b.is_crowd; });
    classes_[label].objects +=
        std::count_if(boxes.begin(), boxes.end(), [](const TrueBox& box) { return !box.is_crowd; });
  }
  for (auto& [label, boxes] : detections) {
    sort_by_score(boxes);
    if (boxes.size() > kMostDetections) boxes.resize(kMostDetections);
    std::vector<Judged> judged;
    for (const Detection& detection : boxes) judged.push_back({detection.score, {}, {}});
    for (size_t i = 0; i < kThresholds; ++i) judge(i, boxes, true_boxes[label], judged);
    std::vector<Judged>& all = classes_[label].detections;
    all.insert(all.end(), judged.begin(), judged.end());
  }
}

/// @param record  with detections sorted by score.
double AveragePrecision::average_precision(const ClassRecord& record, size_t threshold_index) {
  std::vector<double> recalls, precisions;
  double right = 0, wrong = 0;
  for (const Judged& detection : record.detections) {
    if (detection.is_ignored[threshold_index]) continue;
    (detection.is_true[threshold_index] ? right : wrong) += 1;
    recalls.push_back(right / static_cast<double>(record.objects));
    precisions.push_back(right / (right + wrong));
  }
  // Interpolation: the best precision at this recall or a higher one.
  for (size_t i = precisions.size(); i-- > 1;)
    precisions[i - 1] = std::max(precisions[i - 1], precisions[i]);
  double sum = 0;
  for (size_t i = 0; i < kRecalls; ++i) {
    const double recall = evenly_spaced(0, 1, kRecalls, i);
    const auto reached = std::lower_bound(recalls.begin(), recalls.end(), recall);
    if (reached != recalls.end()) sum += precisions[static_cast<size_t>(reached - recalls.begin())];
  }
  return sum / static_cast<double>(kRecalls);
}

MeanAveragePrecision AveragePrecision::result() const {
  MeanAveragePrecision result{.images = images_};
  for (const auto& [label, seen] : classes_) {
    if (seen.objects == 0) continue;
    ClassRecord record = seen;
    std::stable_sort(record.detections.begin(), record.detections.end(),
                     [](const Judged& a, const Judged& b) { return a.score > b.score; });
    ClassPrecision precision{.label = label, .objects = record.objects};
    for (size_t i = 0; i < kThresholds; ++i) {
      const double ap = average_precision(record, i);
      precision.ap += ap;
      if (i == 0) precision.ap50 = ap;
    }
    precision.ap /= kThresholds;
    result.classes.push_back(precision);
  }
  SPARSEBIT_CHECK(!result.classes.empty(), InvalidArgument,
                  "mAP needs ground-truth boxes, but no image has one");
  for (const ClassPrecision& precision : result.classes) {
    result.map += precision.ap;
    result.map50 += precision.ap50;
  }
  result.map /= static_cast<double>(result.classes.size());
  result.map50 /= static_cast<double>(result.classes.size());
  return result;
}

}  // namespace sparsebit::metrics
