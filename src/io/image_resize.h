#pragma once

#include "sparsebit/io/preprocess.h"

namespace sparsebit::io {

/// Resizes an image [channels, height, width]. uint8 stays uint8, other types become float32.
at::Tensor resized_image(const at::Tensor& image, int64_t height, int64_t width,
                         Preprocess::Interpolation interpolation);

}  // namespace sparsebit::io
