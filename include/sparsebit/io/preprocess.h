#pragma once

#include "sparsebit/core/yaml.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sparsebit::io {

/// Where a point of a stored image lies in the model's input: x * scale_x + left, y * scale_y +
/// top. Negative left and top: the image is cropped.
struct ImagePlacement {
  double scale_x = 1, scale_y = 1;
  double left = 0, top = 0;
  int64_t height = 0, width = 0;  ///< of the model's input
};

/// What is done to a stored sample before a model sees it, in this order. At most one of
/// resize_short, resize, letterbox and crop_pct is set.
struct Preprocess {
  enum class Layout { Chw, Hwc };
  enum class Channels { Rgb, Bgr, Gray };
  enum class Dtype { Float32, UInt8 };
  /// Bilinear, Bicubic: as Python's imaging library does it, antialiased. Nearest: the same without
  /// a filter. OpenCv: cv::resize() with INTER_LINEAR, not antialiased, as code around detectors
  /// has it. Bytes stay bytes.
  enum class Interpolation { Bilinear, Bicubic, Nearest, OpenCv };
  /// Where padding leaves the image. Letterboxes round their sizes as ultralytics does in the
  /// center, and as YOLOX does (downwards) in the top left corner.
  enum class Anchor { Center, Corner };

  int64_t resize_short = 0;             ///< length of the shorter side; 0 = as it is
  std::vector<int64_t> resize = {};     ///< [height, width], whatever the shape was
  std::vector<int64_t> letterbox = {};  ///< [height, width]: as large as fits, then padded
  double crop_pct = 0;  ///< covers the crop divided by this, as timm does; 0 = as it is
  Interpolation interpolation = Interpolation::Bilinear;
  std::vector<int64_t> crop = {};  ///< [height, width], from the middle
  std::vector<int64_t> pad = {};   ///< [height, width] to pad to
  int64_t pad_multiple = 0;        ///< what sizes are padded to a multiple of; 0 = as they are
  Anchor anchor = Anchor::Center;
  double pad_value = 114;  ///< in terms of the stored numbers, also for letterboxes
  Channels channels = Channels::Rgb;
  double scale = 1;               ///< what each number is multiplied with
  std::vector<double> mean = {};  ///< subtracted then, one for each channel or one for all
  std::vector<double> std = {};   ///< divided by then
  Dtype dtype = Dtype::Float32;   ///< UInt8: bytes as they are stored
  Layout layout = Layout::Chw;

  /// The sample as float32 or uint8, without a batch axis; whole numbers that are no bytes stay
  /// what they are unless there is something to compute. Throws InvalidArgument when it does not
  /// fit.
  at::Tensor apply(const at::Tensor& sample) const;
  /// Where apply() puts a stored image of this size. Throws as apply() does.
  ImagePlacement placement(int64_t height, int64_t width) const;
  /// The same for a model whose input has this size: letterbox and crop get it, and what is resized
  /// to before a crop grows in proportion. Nothing changes where no size was set.
  Preprocess for_input(int64_t height, int64_t width) const;
  /// The settings as the YAML that read_preprocess() reads.
  std::string describe() const;

  bool operator==(const Preprocess&) const = default;
};

/// Settings by name.
struct PreprocessPreset {
  std::string name;
  std::string summary;  ///< a line: for which models
  Preprocess settings;
};

const std::vector<PreprocessPreset>& preprocess_presets();
/// Throws InvalidArgument, listing the names, when there is none.
Preprocess preprocess_preset(const std::string& name);

/// From YAML with the keys resize (a number: the shorter side, or [height, width]), letterbox,
/// crop_pct, interpolation, crop, pad (a number: a multiple, or [height, width]), anchor,
/// pad_value, channels, scale, mean, std, dtype, layout. Throws InvalidArgument, naming line and
/// key.
Preprocess read_preprocess(const Yaml& settings);

}  // namespace sparsebit::io
