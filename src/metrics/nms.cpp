#include "sparsebit/metrics/nms.h"

#include <algorithm>
#include <map>

namespace sparsebit::metrics {

void sort_by_score(std::vector<Detection>& detections) {
  std::stable_sort(detections.begin(), detections.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
}

std::vector<Detection> suppress_overlaps(std::vector<Detection> detections, double most_overlap) {
  sort_by_score(detections);
  std::map<int64_t, std::vector<Box>> kept_by_class;
  std::erase_if(detections, [&](const Detection& detection) {
    std::vector<Box>& kept = kept_by_class[detection.label];
    const bool overlaps = std::any_of(kept.begin(), kept.end(), [&](const Box& box) {
      return intersection_over_union(box, detection.box) > most_overlap;
    });
    if (!overlaps) kept.push_back(detection.box);
    return overlaps;
  });
  return detections;
}

}  // namespace sparsebit::metrics
