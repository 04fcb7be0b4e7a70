#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/io/preprocess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace sparsebit::io {
namespace {

template <class Choice>
using Words = std::vector<std::pair<const char*, Choice>>;

const Words<Preprocess::Layout> kLayouts = {{"chw", Preprocess::Layout::Chw},
                                            {"hwc", Preprocess::Layout::Hwc}};
const Words<Preprocess::Channels> kChannels = {{"rgb", Preprocess::Channels::Rgb},
                                               {"bgr", Preprocess::Channels::Bgr},
                                               {"gray", Preprocess::Channels::Gray}};
const Words<Preprocess::Dtype> kInputDtypes = {{"float32", Preprocess::Dtype::Float32},
                                               {"uint8", Preprocess::Dtype::UInt8}};
const Words<Preprocess::Anchor> kAnchors = {{"center", Preprocess::Anchor::Center},
                                            {"corner", Preprocess::Anchor::Corner}};
const Words<Preprocess::Interpolation> kInterpolations = {
    {"bilinear", Preprocess::Interpolation::Bilinear},
    {"bicubic", Preprocess::Interpolation::Bicubic},
    {"nearest", Preprocess::Interpolation::Nearest},
    {"opencv", Preprocess::Interpolation::OpenCv}};

template <class Choice>
Choice choice_of(const Yaml& value, const Words<Choice>& words) {
  std::string known;
  for (size_t i = 0; i < words.size(); ++i) {
    if (value.to_text() == words[i].first) return words[i].second;
    known += std::string(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i].first;
  }
  throw Error(ErrorKind::InvalidArgument,
              value.where() + ": expected " + known + ", found '" + value.to_text() + "'");
}

template <class Choice>
const char* word_of(Choice choice, const Words<Choice>& words) {
  return std::find_if(words.begin(), words.end(),
                      [&](const auto& word) { return word.second == choice; })
      ->first;
}

std::vector<double> numbers_of(const Yaml& value) {
  if (!value.is_list()) return {value.to_double()};
  std::vector<double> numbers;
  for (const Yaml& item : value.items()) numbers.push_back(item.to_double());
  return numbers;
}

int64_t length_of(const Yaml& value, const char* what) {
  const int64_t length = value.to_int();
  SPARSEBIT_CHECK(length > 0, InvalidArgument, value.where(), ": expected ", what);
  return length;
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

void read_resize(const Yaml& value, Preprocess& to) {
  if (value.is_list()) {
    to.resize = sizes_of(value);
  } else {
    to.resize_short = length_of(value, "the length of the shorter side");
  }
}

void read_crop(const Yaml& value, Preprocess& to) {
  const bool is_none = value.is_scalar() && value.to_text() == "none";
  to.crop = is_none ? std::vector<int64_t>() : sizes_of(value);
}

void read_crop_pct(const Yaml& value, Preprocess& to) {
  to.crop_pct = value.to_double();
  SPARSEBIT_CHECK(to.crop_pct > 0 && to.crop_pct <= 1, InvalidArgument, value.where(),
                  ": expected a number above 0 and up to 1");
}

void read_pad(const Yaml& value, Preprocess& to) {
  if (value.is_list()) {
    to.pad = sizes_of(value);
  } else {
    to.pad_multiple = length_of(value, "a multiple, or [height, width]");
  }
}

void read_std(const Yaml& value, Preprocess& to) {
  to.std = numbers_of(value);
  for (const double number : to.std)
    SPARSEBIT_CHECK(number > 0, InvalidArgument, value.where(), ": expected numbers above 0");
}

using Reader = std::function<void(const Yaml&, Preprocess&)>;

const std::vector<std::pair<std::string, Reader>>& readers() {
  static const std::vector<std::pair<std::string, Reader>> all = {
      {"resize", read_resize},
      {"letterbox", [](const Yaml& v, Preprocess& to) { to.letterbox = sizes_of(v); }},
      {"crop_pct", read_crop_pct},
      {"interpolation",
       [](const Yaml& v, Preprocess& to) { to.interpolation = choice_of(v, kInterpolations); }},
      {"crop", read_crop},
      {"pad", read_pad},
      {"anchor", [](const Yaml& v, Preprocess& to) { to.anchor = choice_of(v, kAnchors); }},
      {"pad_value", [](const Yaml& v, Preprocess& to) { to.pad_value = v.to_double(); }},
      {"channels", [](const Yaml& v, Preprocess& to) { to.channels = choice_of(v, kChannels); }},
      {"scale", [](const Yaml& v, Preprocess& to) { to.scale = v.to_double(); }},
      {"mean", [](const Yaml& v, Preprocess& to) { to.mean = numbers_of(v); }},
      {"std", read_std},
      {"dtype", [](const Yaml& v, Preprocess& to) { to.dtype = choice_of(v, kInputDtypes); }},
      {"layout", [](const Yaml& v, Preprocess& to) { to.layout = choice_of(v, kLayouts); }},
  };
  return all;
}

const Reader& reader_of(const std::string& key, const Yaml& value) {
  std::vector<std::string> known;
  for (const auto& [name, reader] : readers()) {
    if (name == key) return reader;
    known.push_back(name);
  }
  throw Error(ErrorKind::InvalidArgument,
              value.where() + ": unknown key '" + key + "'" + did_you_mean(key, known));
}

void check_together(const Preprocess& settings, const Yaml& yaml) {
  const int resizes = (settings.resize_short > 0) + !settings.resize.empty() +
                      !settings.letterbox.empty() + (settings.crop_pct > 0);
  SPARSEBIT_CHECK(resizes <= 1, InvalidArgument, yaml.where(),
                  ": resize, letterbox and crop_pct exclude each other");
  SPARSEBIT_CHECK(settings.crop_pct == 0 || !settings.crop.empty(), InvalidArgument, yaml.where(),
                  ": crop_pct needs crop");
  const bool pads = !settings.pad.empty() || settings.pad_multiple > 0;
  SPARSEBIT_CHECK(settings.letterbox.empty() || (!pads && settings.crop.empty()), InvalidArgument,
                  yaml.where(), ": letterbox cannot be combined with crop or pad");
}

}  // namespace

std::string Preprocess::describe() const {
  std::string text;
  const auto add = [&](const char* key, const auto& value) {
    text += fmt::format("{}: {}\n", key, value);
  };
  const auto add_list = [&](const char* key, const auto& values) {
    if (!values.empty()) text += fmt::format("{}: [{}]\n", key, fmt::join(values, ", "));
  };
  if (resize_short > 0) add("resize", resize_short);
  add_list("resize", resize);
  add_list("letterbox", letterbox);
  if (crop_pct > 0) add("crop_pct", crop_pct);
  if (interpolation != Interpolation::Bilinear)
    add("interpolation", word_of(interpolation, kInterpolations));
  add_list("crop", crop);
  add_list("pad", pad);
  if (pad_multiple > 0) add("pad", pad_multiple);
  if (!letterbox.empty() || !pad.empty() || pad_multiple > 0) {
    add("anchor", word_of(anchor, kAnchors));
    add("pad_value", pad_value);
  }
  add("channels", word_of(channels, kChannels));
  add("scale", scale);
  add_list("mean", mean);
  add_list("std", std);
  if (dtype != Dtype::Float32) add("dtype", word_of(dtype, kInputDtypes));
  add("layout", word_of(layout, kLayouts));
  return text;
}

Preprocess read_preprocess(const Yaml& settings) {
  Preprocess result;
  for (const auto& [key, value] : settings.entries()) reader_of(key, value)(value, result);
  check_together(result, settings);
  return result;
}

}  // namespace sparsebit::io
