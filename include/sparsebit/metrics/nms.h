#pragma once

#include "sparsebit/metrics/boxes.h"

#include <vector>

namespace sparsebit::metrics {

/// Non-maximum suppression: of detections of one class that overlap by more than `most_overlap`
/// (IoU), only the one with the highest score is kept; of equal scores, the first.
/// @returns the kept detections, highest scores first.
std::vector<Detection> suppress_overlaps(std::vector<Detection> detections, double most_overlap);

/// Sorts by score, highest first; equal scores keep their order.
void sort_by_score(std::vector<Detection>& detections);

}  // namespace sparsebit::metrics
