#pragma once

#include "sparsebit/core/yaml.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sparsebit::io {

/// What is done to a stored sample before a model sees it, in this order. Images are resized as
/// Python's imaging library does it (triangle filter, rounded to bytes).
struct Preprocess {
  enum class Layout { Chw, Hwc };
  enum class Channels { Rgb, Bgr };

  int64_t resize_short = 0;          ///< length of the shorter side; 0 = as it is
  std::vector<int64_t> resize = {};  ///< [height, width], whatever the shape was
  std::vector<int64_t> crop = {};    ///< [height, width], from the middle
  Channels channels = Channels::Rgb;
  double scale = 1;               ///< what each number is multiplied with
  std::vector<double> mean = {};  ///< subtracted then, one for each channel or one for all
  std::vector<double> std = {};   ///< divided by then
  Layout layout = Layout::Chw;

  /// The sample as float32, without a batch axis. Throws InvalidArgument when it does not fit.
  at::Tensor apply(const at::Tensor& sample) const;
  /// The settings as the YAML that read_preprocess() reads.
  std::string describe() const;
};

/// `imagenet`, `cifar10`, `mnist`, `none`. Throws InvalidArgument with near names for others.
Preprocess preprocess_preset(const std::string& name);
std::vector<std::string> preprocess_presets();

/// From YAML with the keys resize (a number: the shorter side, or [height, width]), crop, channels,
/// scale, mean, std, layout. Throws InvalidArgument, naming line and key.
Preprocess read_preprocess(const Yaml& settings);

}  // namespace sparsebit::io
