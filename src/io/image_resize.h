#pragma once

#include "sparsebit/io/preprocess.h"

namespace sparsebit::io {

/// An image [channels, height, width] in another size. Bytes stay bytes, others become float32.
at::Tensor resized_image(const at::Tensor& image, int64_t height, int64_t width,
                         Preprocess::Interpolation interpolation);

}  // namespace sparsebit::io
