#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sparsebit::io {

struct ImageSize {
  int64_t width = 0, height = 0;
};

/// The size in the header of a JPEG, PNG or BMP file; nullopt for other files. Decoders allocate
/// memory for this size before they read the pixels.
std::optional<ImageSize> read_image_size(std::string_view bytes);

}  // namespace sparsebit::io
