#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/onnx_input.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numeric>

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;

struct Box {
  float top, left, bottom, right;

  float area() const { return (bottom - top) * (right - left); }
};

/// Corners may come in either order, or as centre and size.
Box read_box(const at::TensorAccessor<float, 1>& box, bool centred) {
  if (centred) {
    const float x = box[0], y = box[1], w = box[2] / 2, h = box[3] / 2;
    return {y - h, x - w, y + h, x + w};
  }
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]),
          std::max(box[1], box[3])};
}

float intersection_over_union(const Box& a, const Box& b) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) return 0;
  const float common = height * width, all = a.area() + b.area() - common;
  return all > 0 ? common / all : 0;
}

/// Boxes of one class, best first, without those that overlap a better one.
Ints select_boxes(const std::vector<Box>& boxes, const at::TensorAccessor<float, 1>& scores,
                  int64_t most, float overlap, c10::optional<float> least) {
  Ints order;
  for (int64_t i = 0; i < scores.size(0); ++i) {
    if (!least || scores[i] > *least) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  Ints selected;
  for (const int64_t i : order) {
    if (static_cast<int64_t>(selected.size()) >= most) break;
    const bool covered = std::any_of(selected.begin(), selected.end(), [&](int64_t j) {
      return intersection_over_union(boxes[static_cast<size_t>(i)], boxes[static_cast<size_t>(j)]) >
             overlap;
    });
    if (!covered) selected.push_back(i);
  }
  return selected;
}

/// Rows [batch, class, box].
Value non_max_suppression(const Args& a) {
  const Tensor boxes = a.tensor("boxes").detach().to(at::kFloat).contiguous();
  const Tensor scores = a.tensor("scores").detach().to(at::kFloat).contiguous();
  const bool fits = boxes.dim() == 3 && boxes.size(2) == 4 && scores.dim() == 3 &&
                    scores.size(0) == boxes.size(0) && scores.size(2) == boxes.size(1);
  SPARSEBIT_CHECK(fits, InvalidArgument, "boxes and scores have shapes ", boxes.sizes(), " and ",
                  scores.sizes(), ", expected [batch, n, 4] and [batch, classes, n]");
  const int64_t most =
      a.is_none("max_output_boxes_per_class") ? 0 : a["max_output_boxes_per_class"].to_int();
  const auto overlap = static_cast<float>(number_input(a, "iou_threshold", 0.0));
  const bool has_least = !a.is_none("score_threshold");
  const auto least = static_cast<float>(number_input(a, "score_threshold", 0.0));
  const auto all_boxes = boxes.accessor<float, 3>();
  const auto all_scores = scores.accessor<float, 3>();
  Ints rows;
  for (int64_t n = 0; n < boxes.size(0); ++n) {
    std::vector<Box> own;
    for (int64_t i = 0; i < boxes.size(1); ++i) {
      own.push_back(read_box(all_boxes[n][i], a.flag("center_point_box")));
    }
    for (int64_t k = 0; k < scores.size(1); ++k) {
      const Ints chosen = select_boxes(own, all_scores[n][k], most, overlap,
                                       has_least ? c10::make_optional(least) : c10::nullopt);
      for (const int64_t i : chosen) rows.insert(rows.end(), {n, k, i});
    }
  }
  return at::tensor(rows, at::kLong).view({-1, 3});
}

/// Regions of interest: batch index and box of each.
struct Regions {
  std::vector<int64_t> image;
  std::vector<std::array<double, 4>> box;  ///< x1, y1, x2, y2
};

void check_image(const Tensor& x, const Regions& regions) {
  SPARSEBIT_CHECK(x.dim() == 4, InvalidArgument, "expected 4 axes, got ", x.dim());
  for (const int64_t image : regions.image) {
    SPARSEBIT_CHECK(image >= 0 && image < x.size(0), InvalidArgument, "rois: batch index ", image,
                    " is out of range for a batch of ", x.size(0));
  }
  for (const auto& box : regions.box) {
    const bool finite =
        std::all_of(box.begin(), box.end(), [](double v) { return std::abs(v) < 1e9; });
    SPARSEBIT_CHECK(finite, InvalidArgument, "rois: a coordinate is not finite");
  }
}

/// @param columns  index of the first coordinate in each row.
Regions read_boxes(const Tensor& rois, int64_t columns) {
  SPARSEBIT_CHECK(rois.dim() == 2 && rois.size(1) == columns + 4, InvalidArgument,
                  "rois have shape ", rois.sizes(), ", expected [n, ", columns + 4, "]");
  const Tensor numbers = rois.detach().to(at::kDouble).contiguous();
  const auto rows = numbers.accessor<double, 2>();
  Regions regions;
  for (int64_t i = 0; i < rois.size(0); ++i) {
    const auto row = rows[i];
    regions.box.push_back({row[columns], row[columns + 1], row[columns + 2], row[columns + 3]});
    if (columns > 0) regions.image.push_back(std::abs(row[0]) < 1e9 ? std::lround(row[0]) : -1);
  }
  return regions;
}

/// Part i of `count` of the range, cut to [0, size).
std::pair<int64_t, int64_t> bin(int64_t start, int64_t length, int64_t count, int64_t i,
                                int64_t size) {
  const double step = static_cast<double>(length) / static_cast<double>(count);
  const auto low = static_cast<int64_t>(std::floor(static_cast<double>(i) * step));
  const auto high = static_cast<int64_t>(std::ceil(static_cast<double>(i + 1) * step));
  return {std::clamp(low + start, int64_t{0}, size), std::clamp(high + start, int64_t{0}, size)};
}

/// The largest element of each part of one region.
Tensor pool_region(const Tensor& image, const std::array<double, 4>& box, const Ints& pooled,
                   double scale) {
  const auto place = [&](size_t i) { return std::lround(box[i] * scale); };
  const int64_t width = std::max<int64_t>(place(2) - place(0) + 1, 1);
  const int64_t height = std::max<int64_t>(place(3) - place(1) + 1, 1);
  std::vector<Tensor> values;
  for (int64_t h = 0; h < pooled[0]; ++h) {
    const auto [top, bottom] = bin(place(1), height, pooled[0], h, image.size(1));
    for (int64_t w = 0; w < pooled[1]; ++w) {
      const auto [left, right] = bin(place(0), width, pooled[1], w, image.size(2));
      const bool empty = bottom <= top || right <= left;
      values.push_back(empty ? at::zeros({image.size(0)}, image.options())
                             : image.slice(1, top, bottom).slice(2, left, right).amax({1, 2}));
    }
  }
  return at::stack(values, 1).view({image.size(0), pooled[0], pooled[1]});
}

Value max_roi_pool(const Args& a) {
  const Tensor x = a.tensor("X");
  const Regions regions = read_boxes(a.tensor("rois"), 1);
  check_image(x, regions);
  const Ints pooled = a.ints("pooled_shape", 2);
  for (const int64_t size : pooled) {
    SPARSEBIT_CHECK(size > 0 && size < 65536, InvalidArgument,
                    "pooled_shape must be positive and less than 65536, got ", size);
  }
  if (regions.box.empty()) return at::empty({0, x.size(1), pooled[0], pooled[1]}, x.options());
  std::vector<Tensor> results;
  for (size_t i = 0; i < regions.box.size(); ++i) {
    results.push_back(
        pool_region(x[regions.image[i]], regions.box[i], pooled, a.number("spatial_scale")));
  }
  return at::stack(results);
}

}  // namespace

void add_onnx_detection_operators(OperatorTable& table) {
  table.add({.name = "onnx.NonMaxSuppression",
             .schema = "boxes, scores, max_output_boxes_per_class=None, iou_threshold=None, "
                       "score_threshold=None, center_point_box=0",
             .forms = {"onnx.NonMaxSuppression"},
             .kernel = non_max_suppression});
  table.add({.name = "onnx.MaxRoiPool",
             .schema = "X, rois, pooled_shape, spatial_scale=1.0",
             .forms = {"onnx.MaxRoiPool"},
             .growth = Growth::Sizes,
             .kernel = max_roi_pool});
}

}  // namespace sparsebit::fx
