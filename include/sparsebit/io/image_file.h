#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace sparsebit::io {

/// The pixels of a JPEG, PNG or other image file as uint8 [3, height, width], red first, turned the
/// way its EXIF data says. Throws Io when the file cannot be read and InvalidArgument, naming it,
/// when it is not an image.
at::Tensor load_image(const std::filesystem::path& path);

}  // namespace sparsebit::io
