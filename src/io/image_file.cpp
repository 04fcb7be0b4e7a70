#include "sparsebit/io/image_file.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"

#include <ATen/ATen.h>
#include <opencv2/imgcodecs.hpp>

#include <limits>

namespace sparsebit::io {
namespace {

cv::Mat decode(MappedFile& file) {
  if (file.size() == 0 || file.size() > std::numeric_limits<int>::max()) return {};
  const cv::Mat bytes(1, static_cast<int>(file.size()), CV_8UC1, file.data());
  try {
    return cv::imdecode(bytes, cv::IMREAD_COLOR);
  } catch (const cv::Exception&) {  // a header that promises too much, for instance
    return {};
  }
}

}  // namespace

at::Tensor load_image(const std::filesystem::path& path) {
  MappedFile file(path);
  cv::Mat pixels = decode(file);
  SPARSEBIT_CHECK(!pixels.empty(), InvalidArgument, path.string(),
                  ": not an image that can be decoded");
  const at::Tensor blue_first =
      at::from_blob(pixels.data, {pixels.rows, pixels.cols, 3}, at::kByte);
  return blue_first.flip(2).permute({2, 0, 1}).contiguous();
}

}  // namespace sparsebit::io
