#include "metrics/heads/yolo_grid.h"

#include <ATen/ATen.h>

namespace sparsebit::metrics {

int64_t YoloGrid::boxes(int64_t height, int64_t width) const {
  int64_t cells = 0;
  for (const int64_t stride : strides) cells += (height / stride) * (width / stride);
  return cells * anchors;
}

std::optional<YoloGrid> find_grid(const DetectorOutputs& outputs, int64_t boxes,
                                  const std::vector<int64_t>& anchors) {
  static const std::vector<std::vector<int64_t>> kStrides = {
      {8, 16, 32}, {8, 16, 32, 64}, {4, 8, 16, 32}, {16, 32}};
  for (const std::vector<int64_t>& strides : kStrides) {
    for (const int64_t count : anchors) {
      const YoloGrid grid{strides, count};
      if (boxes > 0 && grid.boxes(outputs.height, outputs.width) == boxes) return grid;
    }
  }
  return std::nullopt;
}

int64_t mask_columns(const DetectorOutputs& outputs) {
  int64_t columns = 0, maps = 0;
  for (const NamedOutput& output : outputs.outputs) {
    if (output.tensor.dim() != 4) continue;
    columns = output.tensor.size(1);
    ++maps;
  }
  return maps == 1 ? columns : 0;
}

}  // namespace sparsebit::metrics
