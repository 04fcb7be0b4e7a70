#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/io/preprocess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sparsebit::io {
namespace {

const std::vector<double> kImageNetMean = {0.485, 0.456, 0.406};
const std::vector<double> kImageNetStd = {0.229, 0.224, 0.225};
const std::vector<double> kHalf = {0.5, 0.5, 0.5};
const std::vector<double> kClipMean = {0.48145466, 0.4578275, 0.40821073};
const std::vector<double> kClipStd = {0.26862954, 0.26130258, 0.27577711};
constexpr double kFromByte = 1. / 255;

using Interpolation = Preprocess::Interpolation;
using Channels = Preprocess::Channels;
using Anchor = Preprocess::Anchor;

std::vector<PreprocessPreset> classifiers() {
  return {
      {"imagenet",
       "torchvision's classifiers: shorter side 256, crop 224, ImageNet mean and std",
       {.resize_short = 256,
        .crop = {224, 224},
        .scale = kFromByte,
        .mean = kImageNetMean,
        .std = kImageNetStd}},
      {"timm",
       "timm's convolutional networks: bicubic, crop of 95 %, ImageNet mean and std",
       {.crop_pct = 0.95,
        .interpolation = Interpolation::Bicubic,
        .crop = {224, 224},
        .scale = kFromByte,
        .mean = kImageNetMean,
        .std = kImageNetStd}},
      {"vit",
       "timm's vision transformers: bicubic, crop of 90 %, mean and std 0.5",
       {.crop_pct = 0.9,
        .interpolation = Interpolation::Bicubic,
        .crop = {224, 224},
        .scale = kFromByte,
        .mean = kHalf,
        .std = kHalf}},
      {"inception",
       "Inception of timm and TensorFlow: 299, mean and std 0.5 (torchvision's takes imagenet)",
       {.crop_pct = 0.875,
        .interpolation = Interpolation::Bicubic,
        .crop = {299, 299},
        .scale = kFromByte,
        .mean = kHalf,
        .std = kHalf}},
      {"clip",
       "CLIP's image encoders: bicubic, shorter side 224, crop 224, CLIP's mean and std",
       {.resize_short = 224,
        .interpolation = Interpolation::Bicubic,
        .crop = {224, 224},
        .scale = kFromByte,
        .mean = kClipMean,
        .std = kClipStd}},
      {"yolo-cls",
       "ultralytics' classifiers: shorter side 224, crop 224, 0 to 1",
       {.resize_short = 224, .crop = {224, 224}, .scale = kFromByte}},
      {"tf",
       "Keras' MobileNet and similar models: 224x224, -1 to 1",
       {.resize = {224, 224}, .mean = {127.5}, .std = {127.5}}},
      {"caffe",
       "Caffe, and Keras' VGG and ResNet: shorter side 256, crop 224, BGR minus ImageNet mean",
       {.resize_short = 256,
        .crop = {224, 224},
        .channels = Channels::Bgr,
        .mean = {103.939, 116.779, 123.68}}},
  };
}

std::vector<PreprocessPreset> detectors() {
  return {
      {"yolo",
       "ultralytics' YOLO: letterbox 640 in the center, 0 to 1",
       {.letterbox = {640, 640}, .interpolation = Interpolation::OpenCv, .scale = kFromByte}},
      {"yolox",
       "YOLOX: letterbox 640 in the top left corner, BGR, 0 to 255",
       {.letterbox = {640, 640},
        .interpolation = Interpolation::OpenCv,
        .anchor = Anchor::Corner,
        .channels = Channels::Bgr}},
      {"detr",
       "DETR, and SSD of the ONNX model zoo: stretched to 800x800, ImageNet mean and std",
       {.resize = {800, 800}, .scale = kFromByte, .mean = kImageNetMean, .std = kImageNetStd}},
      {"ssd",
       "SSD of Caffe: stretched to 300x300, BGR minus 104, 117, 123",
       {.resize = {300, 300},
        .interpolation = Interpolation::OpenCv,
        .channels = Channels::Bgr,
        .mean = {104, 117, 123}}},
  };
}

std::vector<PreprocessPreset> others() {
  return {
      {"cifar10",
       "networks for CIFAR-10: 32x32, ImageNet mean and std",
       {.resize = {32, 32}, .scale = kFromByte, .mean = kImageNetMean, .std = kImageNetStd}},
      {"mnist",
       "networks for MNIST: 28x28, one channel, mean 0.1307, std 0.3081",
       {.resize = {28, 28},
        .channels = Channels::Gray,
        .scale = kFromByte,
        .mean = {0.1307},
        .std = {0.3081}}},
      {"unit",
       "0 to 1 at the original size: torchvision's detectors, which resize and normalize "
       "themselves",
       {.scale = kFromByte}},
      {"none", "nothing: arrays as they are stored, images from 0 to 255", {}},
  };
}

}  // namespace

const std::vector<PreprocessPreset>& preprocess_presets() {
  static const std::vector<PreprocessPreset> all = [] {
    std::vector<PreprocessPreset> presets;
    for (const auto& part : {classifiers(), detectors(), others()})
      presets.insert(presets.end(), part.begin(), part.end());
    return presets;
  }();
  return all;
}

Preprocess preprocess_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const PreprocessPreset& preset : preprocess_presets()) {
    if (preset.name == name) return preset.settings;
    names.push_back(preset.name);
  }
  const std::string near = did_you_mean(name, names);
  throw Error(
      ErrorKind::InvalidArgument,
      fmt::format("unknown preprocessing '{}'{}", name,
                  near.empty() ? fmt::format("; known: {}", fmt::join(names, ", ")) : near));
}

}  // namespace sparsebit::io
