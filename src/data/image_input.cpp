#include "sparsebit/data/image_input.h"

#include <algorithm>
#include <array>

namespace sparsebit::data {
namespace {

bool are_channels(int64_t size) { return size == 1 || size == 3 || size == 4; }

/// Whether a size is plausible for the side of an image; excludes vectors of shape [n, c, 1, 1].
bool is_side(int64_t size) { return size < 0 || size > 4; }

}  // namespace

std::string ImageInput::to_text() const {
  const bool first = layout == io::Preprocess::Layout::Chw;
  const std::array<int64_t, 3> sizes =
      first ? std::array{channels, height, width} : std::array{height, width, channels};
  std::string text;
  for (const int64_t size : sizes)
    text += (text.empty() ? "" : "x") + (size < 0 ? "?" : std::to_string(size));
  return text;
}

std::optional<ImageInput> image_input(const InputSpec& input) {
  if (!input.info) return ImageInput{};
  const std::vector<int64_t>& shape = input.info->shape;
  const bool numbers = at::isFloatingType(input.info->dtype) || input.info->dtype == at::kByte;
  if (shape.size() != 4 || !numbers) return std::nullopt;
  const bool bytes = input.info->dtype == at::kByte;
  const bool sides = is_side(shape[1]) && is_side(shape[2]);
  if (sides && !are_channels(shape[1]) && are_channels(shape[3]))
    return ImageInput{shape[3], shape[1], shape[2], io::Preprocess::Layout::Hwc, bytes};
  if (!are_channels(shape[1]) && shape[1] >= 0) return std::nullopt;
  return ImageInput{shape[1], shape[2], shape[3], io::Preprocess::Layout::Chw, bytes};
}

io::Preprocess fitted(const io::Preprocess& preset, const ImageInput& input) {
  io::Preprocess result = input.has_size() ? preset.for_input(input.height, input.width) : preset;
  result.layout = input.layout;
  if (!input.bytes) return result;
  result.scale = 1;
  result.mean.clear();
  result.std.clear();
  result.dtype = io::Preprocess::Dtype::UInt8;
  return result;
}

}  // namespace sparsebit::data
