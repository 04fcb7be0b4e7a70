#include "export/ops/families.h"
#include "export/ops/pooling.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::exports {
namespace {

using Ints = std::vector<int64_t>;

/// Resize's attributes for torch's interpolation mode and coordinates.
Attrs resize_attributes(Call& c) {
  const std::string mode = c.text("mode");
  const bool align = !c.is_none("align_corners") && c.flag("align_corners");
  Attrs attrs;
  if (mode == "nearest" || mode == "nearest-exact") {
    const bool exact = mode == "nearest-exact";
    attrs.emplace_back("coordinate_transformation_mode", exact ? "half_pixel" : "asymmetric");
    attrs.emplace_back("mode", "nearest");
    attrs.emplace_back("nearest_mode", exact ? "round_prefer_ceil" : "floor");
    return attrs;
  }
  attrs.emplace_back("coordinate_transformation_mode", align ? "align_corners" : "half_pixel");
  attrs.emplace_back("mode", mode == "bicubic" ? "cubic" : "linear");
  if (mode == "bicubic") attrs.emplace_back("cubic_coeff_a", -0.75);
  return attrs;
}

std::vector<double> factors_of(Call& c, size_t axes) {
  const fx::Value& given = c.args()["scale_factor"];
  if (given.contains_node()) c.unsupported("scale_factor is not fixed");
  if (!given.is_sequence()) return std::vector<double>(axes, c.number("scale_factor"));
  std::vector<double> factors;
  for (const fx::Value& item : given.items()) factors.push_back(item.to_double());
  return factors;
}

/// The spatial sizes of the result, int64[axes].
OnnxTensor target_sizes(Call& c, const OnnxTensor& x) {
  const auto axes = static_cast<size_t>(x.rank() - 2);
  GraphWriter& w = c.w;
  if (!c.is_none("size")) {
    const OnnxTensor size = c.int_vector("size");
    return size.size(0) == 1 && axes > 1 ? w.concat(std::vector<OnnxTensor>(axes, size), 0) : size;
  }
  const std::vector<double> factors = factors_of(c, axes);
  std::vector<OnnxTensor> sizes;
  for (size_t i = 0; i < axes; ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    if (x.size(dim) >= 0) {
      sizes.push_back(w.ints(
          {static_cast<int64_t>(std::floor(static_cast<double>(x.size(dim)) * factors[i]))}));
      continue;
    }
    const OnnxTensor scaled = w.mul(w.cast(w.size_of(x, dim), at::kFloat), factors[i]);
    sizes.push_back(w.cast(w.unary("Floor", scaled), at::kLong));
  }
  return w.concat(sizes, 0);
}

Shape resized(const OnnxTensor& x, const OnnxTensor& sizes) {
  Shape shape = *x.shape;
  for (size_t i = 2; i < shape.size(); ++i) {
    shape[i] = sizes.constant.defined() ? sizes.constant.data_ptr<int64_t>()[i - 2] : int64_t{-1};
  }
  return shape;
}

/// The matrix [in, out] of an antialiased resize along one axis.
at::Tensor antialias_matrix(const std::string& mode, int64_t in, int64_t out, bool align,
                            c10::optional<double> factor, at::ScalarType dtype) {
  // Resizing the rows of the identity gives the matrix.
  const at::Tensor rows = at::eye(in, at::kFloat).reshape({1, 1, in, in});
  const at::Tensor found =
      mode == "bicubic" ? at::_upsample_bicubic2d_aa(rows, {out, in}, align, factor, c10::nullopt)
                        : at::_upsample_bilinear2d_aa(rows, {out, in}, align, factor, c10::nullopt);
  return found.reshape({out, in}).t().contiguous().to(dtype);
}

/// ONNX Runtime's antialiasing weights differ from torch's. With fixed sizes, each axis is resized
/// by a product with a constant matrix instead.
OnnxTensor antialiased(Call& c, const OnnxTensor& x, const OnnxTensor& sizes) {
  const bool fixed = x.size(2) >= 0 && x.size(3) >= 0 && sizes.constant.defined();
  if (!fixed) c.unsupported("antialias needs fixed sizes");
  const bool align = !c.is_none("align_corners") && c.flag("align_corners");
  const bool recompute = !c.is_none("recompute_scale_factor") && c.flag("recompute_scale_factor");
  OnnxTensor y = x;
  for (int64_t axis : {2, 3}) {
    c10::optional<double> factor;
    if (!c.is_none("scale_factor") && !recompute)
      factor = factors_of(c, 2)[static_cast<size_t>(axis - 2)];
    const int64_t out = sizes.constant.data_ptr<int64_t>()[axis - 2];
    const OnnxTensor matrix =
        c.w.constant(antialias_matrix(c.text("mode"), x.size(axis), out, align, factor, x.dtype));
    y = c.w.swap(c.w.matmul(c.w.swap(y, axis, -1), matrix), axis, -1);
  }
  return y;
}

/// torch computes sample coordinates from scale_factor if it is given, otherwise from the ratio of
/// sizes.
NodeResult interpolate(Call& c) {
  const OnnxTensor x = c.tensor("input");
  GraphWriter& w = c.w;
  const std::string mode = c.text("mode");
  const auto axes = static_cast<size_t>(x.rank() - 2);
  const OnnxTensor sizes = target_sizes(c, x);
  if (mode == "area") {
    if (!sizes.constant.defined()) c.unsupported("mode 'area' needs a fixed output size");
    const int64_t* first = sizes.constant.data_ptr<int64_t>();
    return adaptive_average(c, x, Ints(first, first + axes));
  }
  if (c.flag("antialias")) return antialiased(c, x, sizes);
  const Attrs attrs = resize_attributes(c);
  const Shape shape = resized(x, sizes);
  const bool recompute = !c.is_none("recompute_scale_factor") && c.flag("recompute_scale_factor");
  const OnnxTensor roi = w.opset() < 13 ? w.constant(at::empty({0}, at::kFloat)) : OnnxTensor{};
  // With align_corners only the sizes matter; runtimes and ONNX's reference disagree about
  // factors.
  const bool align = !c.is_none("align_corners") && c.flag("align_corners");
  if (!c.is_none("scale_factor") && !recompute && !align) {
    std::vector<float> scales = {1.0F, 1.0F};
    for (const double factor : factors_of(c, axes)) scales.push_back(static_cast<float>(factor));
    return w.op("Resize", {x, roi, w.constant(at::tensor(scales))}, attrs, x.dtype, shape);
  }
  const OnnxTensor leading = x.size(0) >= 0 && x.size(1) >= 0 ? w.ints({x.size(0), x.size(1)})
                                                              : w.slice(w.shape_of(x), 0, 0, 2);
  const OnnxTensor scales = w.opset() < 13 ? w.constant(at::empty({0}, at::kFloat)) : OnnxTensor{};
  return w.op("Resize", {x, roi, scales, w.concat({leading, sizes}, 0)}, attrs, x.dtype, shape);
}

NodeResult pixel_shuffle(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t factor = c.integer("upscale_factor");
  if (x.rank() < 3 || x.rank() > 4) c.unsupported("pixel_shuffle needs three or four dimensions");
  Shape shape = *x.shape;
  const size_t at = shape.size() - 3;
  if (shape[at] >= 0) shape[at] /= factor * factor;
  for (const size_t i : {at + 1, at + 2}) {
    if (shape[i] >= 0) shape[i] *= factor;
  }
  const OnnxTensor batch = x.rank() == 3 ? c.w.unsqueeze(x, {0}) : x;
  Shape batched = shape;
  if (x.rank() == 3) batched.insert(batched.begin(), 1);
  const OnnxTensor y =
      c.w.op("DepthToSpace", {batch}, {{"blocksize", factor}, {"mode", "CRD"}}, x.dtype, batched);
  return x.rank() == 3 ? c.w.squeeze(y, {0}) : y;
}

/// Not exported as SpaceToDepth, which orders channels differently.
NodeResult pixel_unshuffle(Call& c) {
  const OnnxTensor x = c.tensor("input");
  const int64_t f = c.integer("downscale_factor");
  const OnnxTensor batch = x.rank() == 3 ? c.w.unsqueeze(x, {0}) : x;
  if (batch.rank() != 4 || batch.size(1) < 0 || batch.size(2) < 0 || batch.size(3) < 0)
    c.unsupported("pixel_unshuffle needs fixed sizes");
  const int64_t channels = batch.size(1), height = batch.size(2) / f, width = batch.size(3) / f;
  const OnnxTensor blocks = c.w.reshape(batch, Shape{-1, channels, height, f, width, f});
  const OnnxTensor order = c.w.transpose(blocks, {0, 1, 3, 5, 2, 4});
  const OnnxTensor y = c.w.reshape(order, Shape{-1, channels * f * f, height, width});
  return x.rank() == 3 ? c.w.squeeze(y, {0}) : y;
}

NodeResult grid_sample(Call& c) {
  const OnnxTensor x = c.tensor("input"), grid = c.tensor("grid");
  if (c.w.opset() < 16) c.unsupported("grid_sample needs opset 16 or newer");
  std::string mode = c.text("mode");
  if (x.rank() == 5 && c.w.opset() < 20)
    c.unsupported("grid_sample of volumes needs opset 20 or newer");
  if (c.w.opset() >= 20 && mode == "bilinear") mode = "linear";
  if (c.w.opset() >= 20 && mode == "bicubic") mode = "cubic";
  const bool align = !c.is_none("align_corners") && c.flag("align_corners");
  Shape shape = {x.size(0), x.size(1)};
  for (int64_t i = 1; i < grid.rank() - 1; ++i) shape.push_back(grid.size(i));
  return c.w.op("GridSample", {x, grid},
                {{"align_corners", align},
                 {"mode", mode.c_str()},
                 {"padding_mode", c.text("padding_mode").c_str()}},
                x.dtype, shape);
}

/// Homogeneous coordinates of the output's pixels: from -1 to 1, then a 1 for the translation.
at::Tensor base_grid(const Ints& sizes, bool align, at::ScalarType dtype) {
  const size_t axes = sizes.size();
  Ints shape = sizes;
  shape.push_back(static_cast<int64_t>(axes) + 1);
  at::Tensor grid = at::ones(shape, dtype);
  for (size_t i = 0; i < axes; ++i) {
    const auto n = sizes[i];
    at::Tensor line = n <= 1 ? at::zeros({n}, dtype) : at::linspace(-1, 1, n, dtype);
    if (!align) line = line * static_cast<double>(n - 1) / static_cast<double>(n);
    Ints along(axes, 1);
    along[i] = n;
    grid.select(-1, static_cast<int64_t>(axes - 1 - i)).copy_(line.reshape(along).expand(sizes));
  }
  return grid.reshape({-1, static_cast<int64_t>(axes) + 1});
}

NodeResult affine_grid(Call& c) {
  const OnnxTensor theta = c.tensor("theta");
  const Ints size = c.ints("size");
  const bool align = !c.is_none("align_corners") && c.flag("align_corners");
  const Ints spatial(size.begin() + 2, size.end());
  const OnnxTensor grid = c.w.constant(base_grid(spatial, align, theta.dtype));
  const OnnxTensor points = c.w.matmul(grid, c.w.swap(theta, 1, 2));  // [N, points, axes]
  Shape shape = {size[0]};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  shape.push_back(static_cast<int64_t>(spatial.size()));
  return c.w.reshape(points, shape);
}

}  // namespace

void add_resize_converters(Converters& table) {
  table.add("interpolate", interpolate);
  table.add("pixel_shuffle", pixel_shuffle);
  table.add("pixel_unshuffle", pixel_unshuffle);
  table.add("grid_sample", grid_sample);
  table.add("affine_grid", affine_grid);
}

}  // namespace sparsebit::exports
