#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace sparsebit::io {

/// The pixels of a JPEG, PNG or BMP file as uint8 [3, height, width], red first, rotated by its
/// EXIF orientation. Throws Io when the file cannot be read and InvalidArgument, naming it, when it
/// is not such an image, or its header declares more pixels than the file can hold.
at::Tensor load_image(const std::filesystem::path& path);

}  // namespace sparsebit::io
