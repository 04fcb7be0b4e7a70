#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sparsebit::io {

struct ImageSize {
  int64_t width = 0, height = 0;
};

/// What the header of a JPEG, PNG or BMP file says; nothing for anything else. A decoder takes
/// memory for it before it looks at the rest.
std::optional<ImageSize> read_image_size(std::string_view bytes);

}  // namespace sparsebit::io
