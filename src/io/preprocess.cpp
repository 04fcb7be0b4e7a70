#include "sparsebit/io/preprocess.h"

#include "io/image_resize.h"

#include "sparsebit/core/error.h"
#include "sparsebit/io/image_file.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace sparsebit::io {
namespace {

/// A rectangle in an image.
struct Box {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

/// The geometry of preprocessing an image of a given size: resize, crop, place on a canvas.
struct Geometry {
  int64_t height = 0, width = 0;  ///< after resizing
  Box crop;                       ///< of the resized image
  Box canvas;                     ///< its size, and the position of the crop in it
};

int64_t rounded(double length) { return std::max<int64_t>(1, std::llround(length)); }

void resize_by(double ratio, Geometry& geometry) {
  geometry.height = rounded(static_cast<double>(geometry.height) * ratio);
  geometry.width = rounded(static_cast<double>(geometry.width) * ratio);
}

void resize_short_side(int64_t length, Geometry& geometry) {
  const int64_t height = geometry.height, width = geometry.width;
  geometry.height = height < width ? length : length * height / width;
  geometry.width = height < width ? length * width / height : length;
}

void resize_to_fit(const Preprocess& settings, Geometry& geometry) {
  const auto height = static_cast<double>(geometry.height);
  const auto width = static_cast<double>(geometry.width);
  const double ratio = std::min(static_cast<double>(settings.letterbox[0]) / height,
                                static_cast<double>(settings.letterbox[1]) / width);
  if (settings.anchor == Preprocess::Anchor::Center) return resize_by(ratio, geometry);
  geometry.height = std::max<int64_t>(1, static_cast<int64_t>(height * ratio));
  geometry.width = std::max<int64_t>(1, static_cast<int64_t>(width * ratio));
}

/// Resizes to cover crop / crop_pct: one side exactly, the other at least as long.
void resize_to_cover(const Preprocess& settings, Geometry& geometry) {
  const auto wanted = [&](int64_t crop) {
    return std::floor(static_cast<double>(crop) / settings.crop_pct);
  };
  const int64_t height = static_cast<int64_t>(wanted(settings.crop[0]));
  const int64_t width = static_cast<int64_t>(wanted(settings.crop[1]));
  if (height * geometry.width < width * geometry.height) {
    geometry.height = width * geometry.height / geometry.width;
    geometry.width = width;
  } else {
    geometry.width = height * geometry.width / geometry.height;
    geometry.height = height;
  }
}

Box middle(const Geometry& geometry, const std::vector<int64_t>& crop) {
  SPARSEBIT_CHECK(geometry.height >= crop[0] && geometry.width >= crop[1], InvalidArgument,
                  "an image of ", geometry.height, "x", geometry.width,
                  " is smaller than the crop, ", crop[0], "x", crop[1], "; resize it first");
  const auto start = [](int64_t size, int64_t part) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(size - part) / 2));
  };
  return {start(geometry.height, crop[0]), start(geometry.width, crop[1]), crop[0], crop[1]};
}

std::vector<int64_t> padded_size(const Preprocess& settings, const Box& part) {
  if (!settings.letterbox.empty()) return settings.letterbox;
  if (!settings.pad.empty()) return settings.pad;
  const int64_t multiple = std::max<int64_t>(1, settings.pad_multiple);
  const auto up = [&](int64_t size) { return (size + multiple - 1) / multiple * multiple; };
  return {up(part.height), up(part.width)};
}

Box canvas_of(const Preprocess& settings, const Box& part) {
  const std::vector<int64_t> size = padded_size(settings, part);
  SPARSEBIT_CHECK(size[0] >= part.height && size[1] >= part.width, InvalidArgument, "an image of ",
                  part.height, "x", part.width, " is larger than the padded size, ", size[0], "x",
                  size[1], "; resize it first");
  const bool center = settings.anchor == Preprocess::Anchor::Center;
  return {center ? (size[0] - part.height) / 2 : 0, center ? (size[1] - part.width) / 2 : 0,
          size[0], size[1]};
}

/// An image of one column, say, becomes endless when its short side is made long.
void check_pixels(int64_t height, int64_t width, int64_t new_height, int64_t new_width) {
  int64_t pixels = 0;
  const bool fits = new_height >= 0 && new_width >= 0 &&
                    !__builtin_mul_overflow(new_height, new_width, &pixels) &&
                    pixels <= kMostPixels;
  SPARSEBIT_CHECK(fits, InvalidArgument, "an image of ", height, "x", width,
                  " would become one of ", new_height, "x", new_width, " pixels; at most ",
                  kMostPixels, " (2^28) are made");
}

Geometry geometry_of(const Preprocess& settings, int64_t height, int64_t width) {
  SPARSEBIT_CHECK(height > 0 && width > 0, InvalidArgument, "an image of ", height, "x", width,
                  " has no pixels");
  Geometry geometry{.height = height, .width = width, .crop = {}, .canvas = {}};
  if (settings.resize_short > 0) resize_short_side(settings.resize_short, geometry);
  if (settings.crop_pct > 0) resize_to_cover(settings, geometry);
  if (!settings.letterbox.empty()) resize_to_fit(settings, geometry);
  if (!settings.resize.empty()) {
    geometry.height = settings.resize[0];
    geometry.width = settings.resize[1];
  }
  check_pixels(height, width, geometry.height, geometry.width);
  geometry.crop = settings.crop.empty() ? Box{0, 0, geometry.height, geometry.width}
                                        : middle(geometry, settings.crop);
  geometry.canvas = canvas_of(settings, geometry.crop);
  check_pixels(height, width, geometry.canvas.height, geometry.canvas.width);
  return geometry;
}

at::Tensor placed(const at::Tensor& image, const Preprocess& settings) {
  const Geometry geometry = geometry_of(settings, image.size(1), image.size(2));
  const Box &crop = geometry.crop, &canvas = geometry.canvas;
  const at::Tensor part =
      resized_image(image, geometry.height, geometry.width, settings.interpolation)
          .narrow(1, crop.top, crop.height)
          .narrow(2, crop.left, crop.width);
  if (crop.height == canvas.height && crop.width == canvas.width) return part;
  return at::constant_pad_nd(part,
                             {canvas.left, canvas.width - crop.width - canvas.left, canvas.top,
                              canvas.height - crop.height - canvas.top},
                             settings.pad_value);
}

/// Luma of ITU-R 601, as in PIL and OpenCV.
at::Tensor gray(const at::Tensor& image) {
  if (image.size(0) == 1) return image;
  SPARSEBIT_CHECK(image.size(0) == 3, InvalidArgument, "a sample of shape ", image.sizes(),
                  " cannot be converted to gray; expected 1 or 3 channels");
  const at::Tensor weights = at::tensor({0.299, 0.587, 0.114}).to(at::kFloat).view({3, 1, 1});
  const at::Tensor luma = (image.to(at::kFloat) * weights).sum(0, /*keepdim=*/true);
  return image.scalar_type() == at::kByte ? luma.round().to(at::kByte) : luma;
}

/// Values per channel, shaped to broadcast over a sample.
at::Tensor by_channel(const std::vector<double>& numbers, const at::Tensor& sample) {
  const auto count = static_cast<int64_t>(numbers.size());
  SPARSEBIT_CHECK(count == 1 || (sample.dim() > 0 && sample.size(0) == count), InvalidArgument,
                  "mean or std has ", count,
                  " values, which do not match the channels of a sample ", sample.sizes());
  std::vector<int64_t> shape(static_cast<size_t>(std::max<int64_t>(sample.dim(), 1)), 1);
  shape[0] = count;
  return at::tensor(numbers).to(at::kFloat).view(shape);
}

at::Tensor normalized(const at::Tensor& sample, const Preprocess& settings) {
  // Token ids stay integers; pixels become float.
  const bool computes = settings.scale != 1 || !settings.mean.empty() || !settings.std.empty();
  const bool is_whole = sample.scalar_type() == at::kLong || sample.scalar_type() == at::kInt;
  at::Tensor x = computes || !is_whole ? sample.to(at::kFloat) : sample;
  if (settings.scale != 1) x = x * settings.scale;
  if (!settings.mean.empty()) x = x - by_channel(settings.mean, x);
  if (!settings.std.empty()) x = x / by_channel(settings.std, x);
  return x;
}

/// uint8 input, for models that normalize it themselves.
at::Tensor as_bytes(const at::Tensor& sample, const Preprocess& settings) {
  const at::Tensor x = normalized(sample, settings);
  const at::Tensor bytes = x.round().clamp(0, 255).to(at::kByte);
  SPARSEBIT_CHECK(bytes.to(x.scalar_type()).equal(x), InvalidArgument,
                  "dtype uint8 needs integers from 0 to 255 after preprocessing; leave out scale, "
                  "mean and std");
  return bytes;
}

bool has_geometry(const Preprocess& settings) {
  return settings.resize_short > 0 || !settings.resize.empty() || !settings.letterbox.empty() ||
         settings.crop_pct > 0 || !settings.crop.empty() || !settings.pad.empty() ||
         settings.pad_multiple > 0;
}

}  // namespace

at::Tensor Preprocess::apply(const at::Tensor& sample) const {
  at::Tensor x = sample;
  const bool moves = has_geometry(*this);
  const bool needs_image = moves || channels != Channels::Rgb || layout == Layout::Hwc;
  SPARSEBIT_CHECK(!needs_image || x.dim() == 3, InvalidArgument, "a sample of shape ", x.sizes(),
                  " is not an image [channels, height, width]");
  if (moves) x = placed(x, *this);
  if (channels == Channels::Bgr) x = x.flip(0);
  if (channels == Channels::Gray) x = gray(x);
  x = dtype == Dtype::UInt8 ? as_bytes(x, *this) : normalized(x, *this);
  if (layout == Layout::Hwc) x = x.permute({1, 2, 0});
  return x.contiguous();
}

ImagePlacement Preprocess::placement(int64_t height, int64_t width) const {
  const Geometry geometry = geometry_of(*this, height, width);
  return {.scale_x = static_cast<double>(geometry.width) / static_cast<double>(width),
          .scale_y = static_cast<double>(geometry.height) / static_cast<double>(height),
          .left = static_cast<double>(geometry.canvas.left - geometry.crop.left),
          .top = static_cast<double>(geometry.canvas.top - geometry.crop.top),
          .height = geometry.canvas.height,
          .width = geometry.canvas.width};
}

Preprocess Preprocess::for_input(int64_t height, int64_t width) const {
  Preprocess result = *this;
  if (!letterbox.empty()) result.letterbox = {height, width};
  if (!pad.empty()) result.pad = {height, width};
  if (crop.empty()) {
    if (!resize.empty()) result.resize = {height, width};
    return result;
  }
  result.crop = {height, width};
  const auto grown = [](int64_t size, int64_t to, int64_t from) {
    return rounded(static_cast<double>(size) * static_cast<double>(to) / static_cast<double>(from));
  };
  if (!resize.empty())
    result.resize = {grown(resize[0], height, crop[0]), grown(resize[1], width, crop[1])};
  if (resize_short > 0 && height == width) {
    result.resize_short = grown(resize_short, height, std::min(crop[0], crop[1]));
  } else if (resize_short >
             0) {  // resizing the shorter side may not cover a crop that is not square
    result.resize_short = 0;
    result.crop_pct =
        static_cast<double>(std::min(crop[0], crop[1])) / static_cast<double>(resize_short);
  }
  return result;
}

}  // namespace sparsebit::io
