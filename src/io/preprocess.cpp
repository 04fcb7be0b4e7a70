#include "sparsebit/io/preprocess.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

namespace sparsebit::io {
namespace {

const std::vector<double> kImageNetMean = {0.485, 0.456, 0.406};
const std::vector<double> kImageNetStd = {0.229, 0.224, 0.225};

const std::map<std::string, Preprocess>& presets() {
  static const std::map<std::string, Preprocess> known = {
      {"imagenet",
       {.resize_short = 256,
        .crop = {224, 224},
        .scale = 1. / 255,
        .mean = kImageNetMean,
        .std = kImageNetStd}},
      {"cifar10", {.scale = 1. / 255, .mean = kImageNetMean, .std = kImageNetStd}},
      {"mnist", {.scale = 1. / 255, .mean = {0.1307}, .std = {0.3081}}},
      {"none", {}},
  };
  return known;
}

at::Tensor resized(const at::Tensor& image, int64_t height, int64_t width) {
  if (image.size(1) == height && image.size(2) == width) return image;
  const at::Tensor batch = image.to(at::kFloat).unsqueeze(0);
  const at::Tensor result =
      at::_upsample_bilinear2d_aa(batch, {height, width}, /*align_corners=*/false);
  const at::Tensor size = result.squeeze(0);
  // Bytes stay bytes, as image libraries do it.
  return image.scalar_type() == at::kByte ? size.round().clamp(0, 255).to(at::kByte) : size;
}

at::Tensor with_short_side(const at::Tensor& image, int64_t length) {
  const int64_t height = image.size(1), width = image.size(2);
  return height < width ? resized(image, length, length * width / height)
                        : resized(image, length * height / width, length);
}

at::Tensor cropped(const at::Tensor& image, int64_t height, int64_t width) {
  SPARSEBIT_CHECK(image.size(1) >= height && image.size(2) >= width, InvalidArgument,
                  "an image of ", image.size(1), "x", image.size(2), " is smaller than the crop, ",
                  height, "x", width, "; resize it first");
  const auto start = [](int64_t size, int64_t part) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(size - part) / 2));
  };
  return image.narrow(1, start(image.size(1), height), height)
      .narrow(2, start(image.size(2), width), width);
}

/// Numbers that go with the channels of a sample.
at::Tensor by_channel(const std::vector<double>& numbers, const at::Tensor& sample) {
  const auto count = static_cast<int64_t>(numbers.size());
  SPARSEBIT_CHECK(count == 1 || (sample.dim() > 0 && sample.size(0) == count), InvalidArgument,
                  "there are ", count, " numbers for the channels of a sample ", sample.sizes());
  std::vector<int64_t> shape(static_cast<size_t>(std::max<int64_t>(sample.dim(), 1)), 1);
  shape[0] = count;
  return at::tensor(numbers).to(at::kFloat).view(shape);
}

std::vector<double> numbers_of(const Yaml& value) {
  if (!value.is_list()) return {value.to_double()};
  std::vector<double> numbers;
  for (const Yaml& item : value.items()) numbers.push_back(item.to_double());
  return numbers;
}

std::vector<int64_t> sizes_of(const Yaml& value) {
  std::vector<int64_t> sizes;
  if (value.is_scalar()) sizes = {value.to_int(), value.to_int()};
  if (value.is_scalar() && sizes[0] > 0) return sizes;
  for (const Yaml& item : value.items()) sizes.push_back(item.to_int());
  const bool fits = sizes.size() == 2 && sizes[0] > 0 && sizes[1] > 0;
  SPARSEBIT_CHECK(fits, InvalidArgument, value.where(), ": expected [height, width]");
  return sizes;
}

/// Whether the word is the first of two that are possible.
bool is_first(const Yaml& value, const char* first, const char* second) {
  const std::string& word = value.to_text();
  SPARSEBIT_CHECK(word == first || word == second, InvalidArgument, value.where(), ": expected ",
                  first, " or ", second, ", found '", word, "'");
  return word == first;
}

}  // namespace

at::Tensor Preprocess::apply(const at::Tensor& sample) const {
  at::Tensor x = sample;
  const bool needs_image = resize_short > 0 || !resize.empty() || !crop.empty() ||
                           channels == Channels::Bgr || layout == Layout::Hwc;
  SPARSEBIT_CHECK(!needs_image || x.dim() == 3, InvalidArgument, "a sample of shape ", x.sizes(),
                  " is no image [channels, height, width]");
  if (resize_short > 0) x = with_short_side(x, resize_short);
  if (!resize.empty()) x = resized(x, resize[0], resize[1]);
  if (!crop.empty()) x = cropped(x, crop[0], crop[1]);
  if (channels == Channels::Bgr) x = x.flip(0);
  // Numbers of tokens are to stay whole numbers; pixels are not.
  const bool computes = scale != 1 || !mean.empty() || !std.empty();
  const bool is_whole = x.scalar_type() == at::kLong || x.scalar_type() == at::kInt;
  if (computes || !is_whole) x = x.to(at::kFloat);
  if (scale != 1) x = x * scale;
  if (!mean.empty()) x = x - by_channel(mean, x);
  if (!std.empty()) x = x / by_channel(std, x);
  if (layout == Layout::Hwc) x = x.permute({1, 2, 0});
  return x.contiguous();
}

std::string Preprocess::describe() const {
  std::string text;
  if (resize_short > 0) text += fmt::format("resize: {}\n", resize_short);
  if (!resize.empty()) text += fmt::format("resize: [{}]\n", fmt::join(resize, ", "));
  if (!crop.empty()) text += fmt::format("crop: [{}]\n", fmt::join(crop, ", "));
  text += fmt::format("channels: {}\n", channels == Channels::Rgb ? "rgb" : "bgr");
  text += fmt::format("scale: {}\n", scale);
  if (!mean.empty()) text += fmt::format("mean: [{}]\n", fmt::join(mean, ", "));
  if (!std.empty()) text += fmt::format("std: [{}]\n", fmt::join(std, ", "));
  return text + fmt::format("layout: {}\n", layout == Layout::Chw ? "chw" : "hwc");
}

std::vector<std::string> preprocess_presets() {
  std::vector<std::string> names;
  for (const auto& [name, preset] : presets()) names.push_back(name);
  return names;
}

Preprocess preprocess_preset(const std::string& name) {
  const auto it = presets().find(name);
  SPARSEBIT_CHECK(it != presets().end(), InvalidArgument, "unknown preprocessing '", name,
                  "'; there are ", fmt::format("{}", fmt::join(preprocess_presets(), ", ")));
  return it->second;
}

Preprocess read_preprocess(const Yaml& settings) {
  Preprocess result;
  const std::vector<std::string> known = {"resize", "crop", "channels", "scale",
                                          "mean",   "std",  "layout"};
  for (const auto& [key, value] : settings.entries()) {
    if (key == "resize" && value.is_list()) {
      result.resize = sizes_of(value);
    } else if (key == "resize") {
      result.resize_short = value.to_int();
      SPARSEBIT_CHECK(result.resize_short > 0, InvalidArgument, value.where(),
                      ": expected the length of the shorter side");
    } else if (key == "crop") {
      result.crop = sizes_of(value);
    } else if (key == "channels") {
      result.channels =
          is_first(value, "rgb", "bgr") ? Preprocess::Channels::Rgb : Preprocess::Channels::Bgr;
    } else if (key == "scale") {
      result.scale = value.to_double();
    } else if (key == "mean") {
      result.mean = numbers_of(value);
    } else if (key == "std") {
      result.std = numbers_of(value);
      for (const double number : result.std) {
        SPARSEBIT_CHECK(number > 0, InvalidArgument, value.where(), ": expected numbers above 0");
      }
    } else if (key == "layout") {
      result.layout =
          is_first(value, "chw", "hwc") ? Preprocess::Layout::Chw : Preprocess::Layout::Hwc;
    } else {
      throw Error(ErrorKind::InvalidArgument,
                  value.where() + ": there is no key '" + key + "'" + did_you_mean(key, known));
    }
  }
  return result;
}

}  // namespace sparsebit::io
