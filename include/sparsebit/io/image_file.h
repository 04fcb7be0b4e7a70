#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>

namespace sparsebit::io {

/// Pixels of the largest image that is read or made: 2^28, 800 MB as bytes of three channels. More
/// is taken for damage, or for an attempt to exhaust the memory.
inline constexpr int64_t kMostPixels = int64_t{1} << 28;

/// The pixels of a JPEG, PNG or BMP file as uint8 [3, height, width], red first, rotated by its
/// EXIF orientation. Throws Io when the file cannot be read and InvalidArgument, naming it, when it
/// is not such an image, has more than kMostPixels, or its header declares more than the file can
/// hold; nothing is decoded then.
at::Tensor load_image(const std::filesystem::path& path);

}  // namespace sparsebit::io
