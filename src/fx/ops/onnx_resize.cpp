#include "fx/ops/onnx_resize.h"
#include "fx/ops/families.h"
#include "fx/ops/kernels.h"
#include "fx/ops/onnx_input.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::fx {
namespace {

using at::Tensor;
using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

/// One axis that is resized.
struct Axis {
  int64_t dim, size, out;
  double scale;
  double roi_start = 0, roi_end = 1;
};

Doubles number_list(const Args& a, const char* name) {
  Doubles numbers;
  if (!a[name].is_tensor()) {
    for (const Value& item : a[name].items()) numbers.push_back(item.to_double());
    return numbers;
  }
  const Tensor given = a.tensor(name).to(at::kDouble).contiguous();
  SPARSEBIT_CHECK(given.dim() == 1, InvalidArgument, name, " must have one axis, got ",
                  given.dim());
  return {given.data_ptr<double>(), given.data_ptr<double>() + given.numel()};
}

bool is_given(const Args& a, const char* name) {
  if (a.is_none(name)) return false;
  return a[name].is_tensor() ? a.tensor(name).numel() > 0 : !a[name].items().empty();
}

void set_scales(const Args& a, std::vector<Axis>& axes) {
  const Doubles scales = number_list(a, "scales");
  SPARSEBIT_CHECK(scales.size() == axes.size(), InvalidArgument, "scales has ", scales.size(),
                  " entries, expected ", axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const double wanted = resized(axes[i].size, scales[i]);
    SPARSEBIT_CHECK(scales[i] > 0 && wanted < 1e12, InvalidArgument, "scales contains ", scales[i]);
    axes[i].scale = scales[i];
    axes[i].out = static_cast<int64_t>(wanted);
  }
}

/// Sizes are those of the result, or limits for it when the proportions are kept.
void set_sizes(const Args& a, std::vector<Axis>& axes) {
  const Ints sizes = int_input(a, "sizes");
  SPARSEBIT_CHECK(sizes.size() == axes.size(), InvalidArgument, "sizes has ", sizes.size(),
                  " entries, expected ", axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    SPARSEBIT_CHECK(axes[i].size > 0 && sizes[i] >= 0, InvalidArgument, "axis ", axes[i].dim,
                    " of size ", axes[i].size, " cannot be resized to ", sizes[i]);
    axes[i].out = sizes[i];
    axes[i].scale = static_cast<double>(sizes[i]) / static_cast<double>(axes[i].size);
  }
  const int64_t policy =
      number_of(a, "keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"});
  if (policy == 0 || axes.empty()) return;
  const auto by_scale = [](const Axis& x, const Axis& y) { return x.scale < y.scale; };
  const double scale = policy == 1 ? std::min_element(axes.begin(), axes.end(), by_scale)->scale
                                   : std::max_element(axes.begin(), axes.end(), by_scale)->scale;
  for (Axis& axis : axes) {
    axis.scale = scale;
    axis.out = static_cast<int64_t>(std::floor(scale * static_cast<double>(axis.size) + 0.5));
  }
}

std::vector<Axis> read_axes(const Args& a, const Tensor& x) {
  Ints dims;
  for (int64_t i = 0; i < x.dim(); ++i) dims.push_back(i);
  if (!a.is_none("axes")) dims = wrap_axes(a.ints("axes"), x.dim());
  std::vector<Axis> axes;
  for (const int64_t dim : dims) axes.push_back({dim, x.size(dim), x.size(dim), 1.0});
  SPARSEBIT_CHECK(is_given(a, "scales") != is_given(a, "sizes"), InvalidArgument,
                  "exactly one of scales and sizes must be given");
  if (is_given(a, "sizes")) {
    set_sizes(a, axes);
  } else {
    set_scales(a, axes);
  }
  if (!is_given(a, "roi")) return axes;
  const Doubles roi = number_list(a, "roi");
  if (roi.size() != 2 * axes.size()) return axes;  // only tf_crop_and_resize uses it
  for (size_t i = 0; i < axes.size(); ++i) {
    SPARSEBIT_CHECK(std::isfinite(roi[i]) && std::isfinite(roi[axes.size() + i]), InvalidArgument,
                    "roi: a coordinate is not finite");
    axes[i].roi_start = roi[i];
    axes[i].roi_end = roi[axes.size() + i];
  }
  return axes;
}

enum Transformation {
  kHalfPixel,
  kSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCropAndResize,
  kTfHalfPixel
};

/// The position of each element of the result on the input's axis.
Tensor coordinates(const Axis& axis, int64_t how) {
  const Tensor x = at::arange(axis.out, at::kDouble);
  const auto size = static_cast<double>(axis.size);
  const double width = axis.scale * size;  // before it was rounded
  const auto half_pixel = [&] { return x.add(0.5).div(axis.scale).sub(0.5); };
  switch (how) {
    case kSymmetric:
      return half_pixel().add(size / 2 * (1 - static_cast<double>(axis.out) / width));
    case kPytorchHalfPixel:
      return axis.out > 1 ? half_pixel() : at::zeros_like(x);
    case kAlignCorners:
      return width == 1 ? at::zeros_like(x) : x.mul((size - 1) / (width - 1));
    case kAsymmetric:
      return x.div(axis.scale);
    case kCropAndResize: {
      const double reach = (axis.roi_end - axis.roi_start) * (size - 1);
      const Tensor inside = width > 1 ? x.mul(reach / (width - 1)) : at::full_like(x, reach / 2);
      return inside.add(axis.roi_start * (size - 1));
    }
    case kTfHalfPixel:
      return x.add(0.5).div(axis.scale);
    default:
      return half_pixel();
  }
}

Tensor nearest_places(const Tensor& x, int64_t mode) {
  switch (mode) {
    case 0:
      return x.sub(0.5).ceil();  // round_prefer_floor
    case 1:
      return x.add(0.5).floor();  // round_prefer_ceil
    case 2:
      return x.floor();
    default:
      return x.ceil();
  }
}

/// Weight of an element at a distance: a triangle, or Keys' cubic with parameter A.
Tensor weight_at(const Tensor& distance, bool cubic, double A) {
  const Tensor d = distance.abs();
  if (!cubic) return d.neg().add(1).clamp_min(0);
  const Tensor near = ((A + 2) * d - (A + 3)) * d * d + 1;
  const Tensor far = ((A * d - 5 * A) * d + 8 * A) * d - 4 * A;
  return at::where(d.le(1), near, at::where(d.lt(2), far, at::zeros_like(d)));
}

/// Every result as a weighted sum of its neighbours. Elements outside count as the nearest inside,
/// or not at all with `exclude_outside`.
Tensor mix_axis(const Args& a, const Tensor& x, const Axis& axis, const Tensor& at_x, bool cubic) {
  if (axis.out == 0) return x.narrow(axis.dim, 0, 0);
  const bool exclude = a.flag("exclude_outside"), antialias = a.flag("antialias");
  const double stretch = antialias ? std::min(axis.scale, 1.0) : 1.0;
  const auto first = static_cast<int64_t>(std::floor((cubic ? -2.0 : -1.0) / stretch)) + 1;
  const Tensor offsets = at::arange(first, 2 - first, at::kDouble).unsqueeze(1);
  const Tensor places = at_x.floor().add(offsets);  // [neighbour, result]
  Tensor weights = weight_at(places.sub(at_x).mul(stretch), cubic, a.number("cubic_coeff_a"));
  if (exclude) {
    const Tensor inside = places.ge(0).logical_and(places.lt(static_cast<double>(axis.size)));
    weights = weights.mul(inside.to(at::kDouble));
  }
  if (exclude || antialias) weights = weights.div(weights.sum(0));
  Ints shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(axis.dim)] = axis.out;
  const Tensor indices = places.clamp(0, static_cast<double>(axis.size - 1)).to(at::kLong);
  Tensor y;
  for (int64_t i = 0; i < offsets.size(0); ++i) {
    const Tensor part =
        x.index_select(axis.dim, indices[i]).mul(weights[i].to(x.scalar_type()).view(shape));
    y = y.defined() ? y.add(part) : part;
  }
  return y;
}

/// Fills positions outside of the axis with `value`, as TensorFlow's crop_and_resize does.
Tensor extrapolate(const Tensor& y, const Axis& axis, const Tensor& at_x, double value) {
  const Tensor outside = at_x.lt(0).logical_or(at_x.gt(static_cast<double>(axis.size - 1)));
  Ints shape(static_cast<size_t>(y.dim()), 1);
  shape[static_cast<size_t>(axis.dim)] = axis.out;
  return y.masked_fill(outside.view(shape), value);
}

Value resize(const Args& a) {
  const Tensor x = a.tensor("X");
  const int64_t mode = number_of(a, "mode", {"nearest", "linear", "cubic"});
  const int64_t rounding =
      number_of(a, "nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  const int64_t how =
      number_of(a, "coordinate_transformation_mode",
                {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                 "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"});
  const bool exact = mode == 0 || x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble;
  Tensor y = exact ? x : x.to(at::kFloat);
  const std::vector<Axis> axes = read_axes(a, x);
  for (const Axis& axis : axes) {
    if (axis.out == axis.size && axis.scale == 1.0 && how != kCropAndResize) continue;
    SPARSEBIT_CHECK(axis.size > 0, InvalidArgument, "axis ", axis.dim, " has no elements");
    const Tensor at_x = coordinates(axis, how);
    if (mode == 0) {
      const Tensor places = nearest_places(at_x, rounding);
      y = y.index_select(axis.dim,
                         places.clamp(0, static_cast<double>(axis.size - 1)).to(at::kLong));
    } else {
      y = mix_axis(a, y, axis, at_x, mode == 2);
    }
  }
  for (const Axis& axis : axes) {
    if (how != kCropAndResize) break;
    y = extrapolate(y, axis, coordinates(axis, how), a.number("extrapolation_value"));
  }
  return y.to(x.scalar_type());
}

Value affine_grid(const Args& a) {
  return at::affine_grid_generator(a.tensor("theta"), int_input(a, "size"),
                                   a.flag("align_corners"));
}

}  // namespace

void add_onnx_resize_operators(OperatorTable& table) {
  table.add({.name = "onnx.Resize",
             .schema = "X, roi=None, scales=None, sizes=None, antialias=0, axes=None, "
                       "coordinate_transformation_mode='half_pixel', cubic_coeff_a=-0.75, "
                       "exclude_outside=0, extrapolation_value=0.0, "
                       "keep_aspect_ratio_policy='stretch', mode='nearest', "
                       "nearest_mode='round_prefer_floor'",
             .forms = {"onnx.Resize"},
             .growth = Growth::Sizes,
             .like = "interpolate",
             .kernel = resize});
  table.add({.name = "onnx.AffineGrid",
             .schema = "theta, size, align_corners=0",
             .forms = {"onnx.AffineGrid"},
             .growth = Growth::Sizes,
             .kernel = affine_grid});
}

}  // namespace sparsebit::fx
