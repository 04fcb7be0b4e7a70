#include "sparsebit/io/image_file.h"

#include "io/image_header.h"

#include "sparsebit/core/deflate_bound.h"
#include "sparsebit/core/error.h"
#include "sparsebit/core/mapped_file.h"
#include "sparsebit/core/memory_limit.h"

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
  } catch (const cv::Exception&) {  // inconsistent header, for instance
    return {};
  }
}

/// Checks the header's size before the decoder allocates memory for it.
void check_size(const MappedFile& file, const std::string& name) {
  constexpr int64_t kMostPixelsPerByte = 8 * kMostInflated;  // one bit per pixel
  const std::optional<ImageSize> size = read_image_size(file.bytes());
  SPARSEBIT_CHECK(size, InvalidArgument, name, ": not a JPEG, PNG or BMP image");
  const auto bytes = static_cast<int64_t>(file.size());
  int64_t pixels = 0;
  const bool fits = size->width > 0 && size->height > 0 &&
                    !__builtin_mul_overflow(size->width, size->height, &pixels) &&
                    pixels <= bytes * kMostPixelsPerByte;
  SPARSEBIT_CHECK(fits, InvalidArgument, name, ": ", bytes, " bytes cannot hold the ", size->width,
                  "x", size->height, " pixels that its header declares");
  SPARSEBIT_CHECK(pixels <= kMostPixels, InvalidArgument, name, ": the image has ", size->width,
                  "x", size->height, " pixels; at most ", kMostPixels, " (2^28) are read");
}

/// Rejects truncated JPEG files, for which the decoder would make up the missing pixels. Markers
/// cannot occur inside a scan, so a complete file has an end marker after its last start of scan.
void check_complete(const MappedFile& file, const std::string& name) {
  const std::string_view bytes = file.bytes();
  if (!bytes.starts_with("\xFF\xD8")) return;
  const size_t scan = bytes.rfind("\xFF\xDA"), end = bytes.rfind("\xFF\xD9");
  SPARSEBIT_CHECK(end != std::string_view::npos && (scan == std::string_view::npos || end > scan),
                  InvalidArgument, name, ": truncated JPEG file");
}

/// Bytes by channel.
at::Tensor red_first(const cv::Mat& pixels) {
  const at::Tensor blue_first =
      at::from_blob(pixels.data, {pixels.rows, pixels.cols, 3}, at::kByte);
  return blue_first.flip(2).permute({2, 0, 1}).contiguous();
}

}  // namespace

at::Tensor load_image(const std::filesystem::path& path) {
  MappedFile file(path);
  check_size(file, path.string());
  check_complete(file, path.string());
  const ImageSize size = *read_image_size(file.bytes());
  constexpr int64_t kChannels = 3, kCopies = 3;  // the decoder's, and two to reorder them
  check_memory(kCopies * kChannels * size.width * size.height, path.string());
  // OpenCV's memory is not counted otherwise.
  const MemoryReservation decoded(kChannels * size.width * size.height, path.string());
  const cv::Mat pixels = decode(file);
  SPARSEBIT_CHECK(!pixels.empty(), InvalidArgument, path.string(), ": the image cannot be decoded");
  return red_first(pixels);
}

}  // namespace sparsebit::io
