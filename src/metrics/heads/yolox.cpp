#include "metrics/heads/candidates.h"
#include "metrics/heads/heads.h"
#include "metrics/heads/yolo_grid.h"

#include <ATen/ATen.h>

namespace sparsebit::metrics {
namespace {

/// Undecoded centers are small offsets from the cell; decoded ones are spread over the input.
bool is_decoded(const at::Tensor& rows, const DetectorOutputs& outputs) {
  return rows.select(1, 0).mean().item<double>() > static_cast<double>(outputs.width) / 4;
}

bool is_yolox(const DetectorOutputs& outputs) {
  const NamedOutput* output = only_matrix(outputs);
  if (!output || output->tensor.size(2) <= kBoxAndObjectness) return false;
  return find_grid(outputs, output->tensor.size(1), {1}) && !is_decoded(output->tensor[0], outputs);
}

/// x, y and stride of each cell, [cells, 3].
at::Tensor cells_of(const YoloGrid& grid, const DetectorOutputs& outputs) {
  std::vector<at::Tensor> levels;
  for (const int64_t stride : grid.strides) {
    const int64_t rows = outputs.height / stride, columns = outputs.width / stride;
    const at::Tensor cells = at::arange(rows * columns, at::kLong);
    levels.push_back(at::stack({cells.remainder(columns), cells.floor_divide(columns),
                                at::full({rows * columns}, stride, at::kLong)},
                               1));
  }
  return at::cat(levels).to(at::kFloat);
}

Candidates decode_yolox(const DetectorOutputs& outputs) {
  const NamedOutput* output = only_matrix(outputs);
  if (!output) wrong_form(outputs, "yolox");
  const at::Tensor rows = rows_of(*output, "yolox").to(at::kFloat);
  const std::optional<YoloGrid> grid = find_grid(outputs, rows.size(0), {1});
  if (!grid || rows.size(1) <= kBoxAndObjectness) wrong_form(outputs, "yolox");
  const at::Tensor cells = cells_of(*grid, outputs), stride = cells.narrow(1, 2, 1);
  const at::Tensor middle = (rows.narrow(1, 0, 2) + cells.narrow(1, 0, 2)) * stride;
  const at::Tensor sizes = rows.narrow(1, 2, 2).exp() * stride;
  const int64_t classes = rows.size(1) - kBoxAndObjectness;
  return best_class(corners_of_centered(at::cat({middle, sizes}, 1)),
                    rows.narrow(1, 4, 1) * rows.narrow(1, kBoxAndObjectness, classes));
}

}  // namespace

DetectorHead yolox_head() {
  return {.name = "yolox",
          .form =
              "[batch, cells, 5 + classes]: center offset from the cell in cells, log of width "
              "and height in cells, objectness, class probabilities (YOLOX as exported)",
          .recognizes = is_yolox,
          .decode = decode_yolox};
}

}  // namespace sparsebit::metrics
