#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/onnx_input.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::fx {
namespace {

using at::Tensor;

struct Settings {
  int64_t height, width, sampling;
  double scale, shift;  ///< shift is subtracted: 0.5 for half_pixel, else 0
  bool average;
};

/// Points at which one axis of a region is read: bilinear interpolation between two neighbours.
struct Samples {
  Tensor low, high;                ///< neighbours, [bins * per_bin]
  Tensor low_weight, high_weight;  ///< 0 for points outside of the image
  int64_t per_bin;
};

/// @param start, length  of the region, divided into `bins`.
Samples place_samples(double start, double length, int64_t bins, int64_t sampling, int64_t size,
                      at::TensorOptions options) {
  const double bin = length / static_cast<double>(bins);
  const int64_t count = sampling > 0 ? sampling : static_cast<int64_t>(std::ceil(bin));
  SPARSEBIT_CHECK(count * bins < (int64_t{1} << 24), InvalidArgument, "rois: a region of length ",
                  length, " is too large");
  Samples s{.low = {}, .high = {}, .low_weight = {}, .high_weight = {}, .per_bin = count};
  if (count <= 0) return s;
  const double step = bin / static_cast<double>(count);
  const Tensor place = at::arange(bins * count, at::kDouble).add(0.5).mul(step).add(start);
  const auto last = static_cast<double>(size - 1);
  const Tensor inside = place.ge(-1).logical_and(place.le(static_cast<double>(size)));
  const Tensor clamped = place.clamp(0, last);
  const Tensor low = clamped.floor();
  const Tensor ratio = clamped.sub(low);
  s.low = low.to(at::kLong);
  s.high = low.add(1).clamp_max(last).to(at::kLong);
  s.high_weight = ratio.mul(inside).to(options);
  s.low_weight = ratio.neg().add(1).mul(inside).to(options);
  return s;
}

/// A matrix [bins, size] whose product with an axis gives the mean over each bin.
Tensor mean_matrix(const Samples& s, int64_t bins, int64_t size) {
  Tensor rows = at::zeros({bins * s.per_bin, size}, s.low_weight.options());
  rows = rows.scatter_add(1, s.low.unsqueeze(1), s.low_weight.unsqueeze(1));
  rows = rows.scatter_add(1, s.high.unsqueeze(1), s.high_weight.unsqueeze(1));
  return rows.view({bins, s.per_bin, size}).mean(1);
}

/// The largest weighted neighbour of each bin; ONNX does not interpolate before it compares.
Tensor largest(const Tensor& image, const Samples& y, const Samples& x, const Settings& set) {
  const auto neighbour = [&](const Tensor& row, const Tensor& row_weight, const Tensor& column,
                             const Tensor& column_weight) {
    return image.index_select(1, row).index_select(2, column) *
           row_weight.unsqueeze(1).mul(column_weight);
  };
  const Tensor values =
      at::maximum(at::maximum(neighbour(y.low, y.low_weight, x.low, x.low_weight),
                              neighbour(y.low, y.low_weight, x.high, x.high_weight)),
                  at::maximum(neighbour(y.high, y.high_weight, x.low, x.low_weight),
                              neighbour(y.high, y.high_weight, x.high, x.high_weight)));
  return values.view({image.size(0), set.height, y.per_bin, set.width, x.per_bin}).amax({2, 4});
}

Tensor align_region(const Tensor& image, const at::TensorAccessor<double, 1>& box,
                    const Settings& set) {
  const auto corner = [&](int64_t i) { return box[i] * set.scale - set.shift; };
  double width = corner(2) - corner(0), height = corner(3) - corner(1);
  SPARSEBIT_CHECK(std::isfinite(width) && std::isfinite(height), InvalidArgument,
                  "rois: a coordinate is not finite");
  if (set.shift == 0) {  // output_half_pixel: no region is smaller than a pixel
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  const Samples y =
      place_samples(corner(1), height, set.height, set.sampling, image.size(1), image.options());
  const Samples x =
      place_samples(corner(0), width, set.width, set.sampling, image.size(2), image.options());
  if (y.per_bin <= 0 || x.per_bin <= 0) {
    return at::zeros({image.size(0), set.height, set.width}, image.options());
  }
  if (!set.average) return largest(image, y, x, set);
  const Tensor rows = mean_matrix(y, set.height, image.size(1));
  const Tensor columns = mean_matrix(x, set.width, image.size(2));
  return at::matmul(at::matmul(rows, image), columns.t());
}

Value roi_align(const Args& a) {
  const Tensor x = a.tensor("X"), rois = a.tensor("rois").detach().to(at::kDouble).contiguous();
  const Tensor images = a.tensor("batch_indices").to(at::kLong).contiguous();
  const bool fits = x.dim() == 4 && rois.dim() == 2 && rois.size(1) == 4 && images.dim() == 1 &&
                    images.size(0) == rois.size(0) && x.size(2) > 0 && x.size(3) > 0;
  SPARSEBIT_CHECK(fits, InvalidArgument, "X, rois and batch_indices have shapes ", x.sizes(), ", ",
                  rois.sizes(), " and ", images.sizes(),
                  ", expected [batch, channels, height, width], [n, 4] and [n]");
  const bool half =
      number_of(a, "coordinate_transformation_mode", {"output_half_pixel", "half_pixel"}) == 1;
  const Settings set{.height = a.integer("output_height"),
                     .width = a.integer("output_width"),
                     .sampling = a.integer("sampling_ratio"),
                     .scale = a.number("spatial_scale"),
                     .shift = half ? 0.5 : 0.0,
                     .average = number_of(a, "mode", {"avg", "max"}) == 0};
  SPARSEBIT_CHECK(set.height > 0 && set.width > 0 && set.height < 65536 && set.width < 65536 &&
                      set.sampling >= 0 && set.sampling < 256,
                  InvalidArgument, "output_height, output_width or sampling_ratio is out of range");
  if (rois.size(0) == 0) return at::empty({0, x.size(1), set.height, set.width}, x.options());
  const Tensor which = wrap_indices(images, x.size(0));
  const auto boxes = rois.accessor<double, 2>();
  std::vector<Tensor> results;
  for (int64_t i = 0; i < rois.size(0); ++i) {
    results.push_back(align_region(x[which[i].item<int64_t>()], boxes[i], set));
  }
  return at::stack(results);
}

}  // namespace

void add_onnx_roi_align_operators(OperatorTable& table) {
  table.add({.name = "onnx.RoiAlign",
             .schema = "X, rois, batch_indices, coordinate_transformation_mode='half_pixel', "
                       "mode='avg', output_height=1, output_width=1, sampling_ratio=0, "
                       "spatial_scale=1.0",
             .forms = {"onnx.RoiAlign"},
             .growth = Growth::Sizes,
             .kernel = roi_align});
}

}  // namespace sparsebit::fx
