#pragma once

#include "sparsebit/core/yaml.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sparsebit::io {

/// Maps a point of a stored image to the model's input: x * scale_x + left, y * scale_y + top.
/// left and top are negative when the image is cropped.
struct ImagePlacement {
  double scale_x = 1, scale_y = 1;
  double left = 0, top = 0;
  int64_t height = 0, width = 0;  ///< of the model's input
};

/// Preprocessing of a stored sample into a model's input, applied in the order of the fields. At
/// most one of resize_short, resize, letterbox and crop_pct is set.
struct Preprocess {
  enum class Layout { Chw, Hwc };
  enum class Channels { Rgb, Bgr, Gray };
  enum class Dtype { Float32, UInt8 };
  /// Bilinear, Bicubic, Nearest: as in PIL (Pillow), the first two antialiased. OpenCv:
  /// cv::resize() with INTER_LINEAR, not antialiased, as usual for detectors. uint8 stays uint8.
  enum class Interpolation { Bilinear, Bicubic, Nearest, OpenCv };
  /// Position of the image in the padded canvas. Letterbox sizes are rounded as in ultralytics for
  /// Center, and down as in YOLOX for Corner.
  enum class Anchor { Center, Corner };

  int64_t resize_short = 0;             ///< length of the shorter side; 0: no resizing
  std::vector<int64_t> resize = {};     ///< [height, width], ignoring the aspect ratio
  std::vector<int64_t> letterbox = {};  ///< [height, width]: resized to fit, then padded
  double crop_pct = 0;  ///< resize to cover crop / crop_pct, as in timm; 0: no resizing
  Interpolation interpolation = Interpolation::Bilinear;
  std::vector<int64_t> crop = {};  ///< [height, width], center crop
  std::vector<int64_t> pad = {};   ///< [height, width] to pad to
  int64_t pad_multiple = 0;        ///< sizes are padded to a multiple of this; 0: no padding
  Anchor anchor = Anchor::Center;
  double pad_value = 114;  ///< in the range of the stored values, also for letterboxes
  Channels channels = Channels::Rgb;
  double scale = 1;  ///< factor of each value
  std::vector<double> mean =
      {};                        ///< subtracted after scaling; one value per channel or one for all
  std::vector<double> std = {};  ///< divisor after subtracting mean
  Dtype dtype = Dtype::Float32;  ///< UInt8: stored values unchanged
  Layout layout = Layout::Chw;

  /// The preprocessed sample as float32 or uint8, without a batch axis; int32 and int64 keep their
  /// type unless scale, mean or std are set. Throws InvalidArgument when the settings do not apply
  /// to the sample's shape.
  at::Tensor apply(const at::Tensor& sample) const;
  /// The placement by apply() of a stored image of this size. Throws as apply() does.
  ImagePlacement placement(int64_t height, int64_t width) const;
  /// The same settings for a model input of this size: letterbox, pad and crop take the size, and a
  /// resize before a crop is scaled in proportion. Unset sizes stay unset.
  Preprocess for_input(int64_t height, int64_t width) const;
  /// The settings as the YAML that read_preprocess() reads.
  std::string describe() const;

  bool operator==(const Preprocess&) const = default;
};

/// Named settings.
struct PreprocessPreset {
  std::string name;
  std::string summary;  ///< one line: for which models
  Preprocess settings;
};

const std::vector<PreprocessPreset>& preprocess_presets();
/// Throws InvalidArgument, listing the names, when the name is unknown.
Preprocess preprocess_preset(const std::string& name);

/// Reads settings from YAML with the keys resize (a number: the shorter side, or [height, width]),
/// letterbox, crop_pct, interpolation, crop, pad (a number: a multiple, or [height, width]),
/// anchor, pad_value, channels, scale, mean, std, dtype, layout. Throws InvalidArgument, naming
/// line and key.
Preprocess read_preprocess(const Yaml& settings);

}  // namespace sparsebit::io
