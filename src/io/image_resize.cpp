#include "io/image_resize.h"

#include <ATen/ATen.h>
#include <opencv2/imgproc.hpp>

namespace sparsebit::io {
namespace {

/// For uint8, OpenCV computes in fixed point, which differs from rounded float results.
at::Tensor resized_by_opencv(const at::Tensor& image, int64_t height, int64_t width) {
  const bool bytes = image.scalar_type() == at::kByte;
  const at::Tensor from = image.to(bytes ? at::kByte : at::kFloat).contiguous();
  at::Tensor to = at::empty({image.size(0), height, width}, from.options());
  const int type = bytes ? CV_8UC1 : CV_32FC1;
  for (int64_t channel = 0; channel < image.size(0); ++channel) {
    const at::Tensor source = from[channel], target = to[channel];
    const cv::Mat pixels(static_cast<int>(source.size(0)), static_cast<int>(source.size(1)), type,
                         source.data_ptr());
    cv::Mat result(static_cast<int>(height), static_cast<int>(width), type, target.data_ptr());
    cv::resize(pixels, result, result.size(), 0, 0, cv::INTER_LINEAR);
  }
  return to;
}

}  // namespace

at::Tensor resized_image(const at::Tensor& image, int64_t height, int64_t width,
                         Preprocess::Interpolation interpolation) {
  using Interpolation = Preprocess::Interpolation;
  if (image.size(1) == height && image.size(2) == width) return image;
  if (interpolation == Interpolation::OpenCv) return resized_by_opencv(image, height, width);
  const at::Tensor batch = image.to(at::kFloat).unsqueeze(0);
  const std::vector<int64_t> size = {height, width};
  const at::Tensor result =
      interpolation == Interpolation::Nearest   ? at::_upsample_nearest_exact2d(batch, size)
      : interpolation == Interpolation::Bicubic ? at::_upsample_bicubic2d_aa(batch, size, false)
                                                : at::_upsample_bilinear2d_aa(batch, size, false);
  const at::Tensor pixels = result.squeeze(0);
  return image.scalar_type() == at::kByte ? pixels.round().clamp(0, 255).to(at::kByte) : pixels;
}

}  // namespace sparsebit::io
