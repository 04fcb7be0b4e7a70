#pragma once

#include "sparsebit/metrics/detector_head.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sparsebit::metrics {

/// Columns before the class probabilities: four coordinates and the objectness.
inline constexpr int64_t kBoxAndObjectness = 5;

/// The grid cells of a YOLO head, over all strides.
struct YoloGrid {
  std::vector<int64_t> strides;
  int64_t anchors = 1;  ///< boxes per cell

  /// Number of boxes for an input of this size.
  int64_t boxes(int64_t height, int64_t width) const;
};

/// Finds the common grid (strides 8 to 32, 8 to 64, 4 to 32, 16 to 32) with this number of boxes.
std::optional<YoloGrid> find_grid(const DetectorOutputs& outputs, int64_t boxes,
                                  const std::vector<int64_t>& anchors);

/// Number of mask coefficients per box: the channels of the mask prototypes, the output of four
/// axes of a segmentation YOLO. 0 when there is none.
int64_t mask_columns(const DetectorOutputs& outputs);

}  // namespace sparsebit::metrics
