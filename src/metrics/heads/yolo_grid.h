#pragma once

#include "sparsebit/metrics/detector_head.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sparsebit::metrics {

/// Columns before the probabilities of classes, where there is an objectness.
inline constexpr int64_t kBoxAndObjectness = 5;

/// The cells that a YOLO head predicts boxes for, of all its strides.
struct YoloGrid {
  std::vector<int64_t> strides;
  int64_t anchors = 1;  ///< boxes for each cell

  /// How many boxes there are for an input of this size.
  int64_t boxes(int64_t height, int64_t width) const;
};

/// The grid of the usual ones (strides 8 to 32, 8 to 64, 4 to 32, 16 to 32) that has so many boxes.
std::optional<YoloGrid> find_grid(const DetectorOutputs& outputs, int64_t boxes,
                                  const std::vector<int64_t>& anchors);

/// How many columns of a box are coefficients of masks: the channels of the prototypes that a
/// segmenting YOLO gives as an output of four axes.
int64_t mask_columns(const DetectorOutputs& outputs);

}  // namespace sparsebit::metrics
