#include "io/image_header.h"

namespace sparsebit::io {
namespace {

using namespace std::string_view_literals;

int64_t big_endian(std::string_view bytes, size_t at, size_t count) {
  int64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

int32_t little_endian_32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return static_cast<int32_t>(value);
}

std::optional<ImageSize> png_size(std::string_view bytes) {
  constexpr size_t kWidth = 16, kEnd = 24;  // in IHDR, the first chunk
  if (bytes.size() < kEnd || bytes.substr(12, 4) != "IHDR") return std::nullopt;
  return ImageSize{big_endian(bytes, kWidth, 4), big_endian(bytes, kWidth + 4, 4)};
}

std::optional<ImageSize> bmp_size(std::string_view bytes) {
  constexpr size_t kHeaderSize = 14, kWidth = 18, kEnd = 26;
  if (bytes.size() < kEnd || little_endian_32(bytes, kHeaderSize) < 40) return std::nullopt;
  const int64_t height =
      little_endian_32(bytes, kWidth + 4);  // negative: rows are stored from the top
  return ImageSize{little_endian_32(bytes, kWidth), height < 0 ? -height : height};
}

/// Follows the markers up to the start of a frame (SOF).
std::optional<ImageSize> jpeg_size(std::string_view bytes) {
  size_t at = 2;
  while (at + 9 <= bytes.size()) {
    if (bytes[at] != '\xFF') return std::nullopt;
    const auto marker = static_cast<uint8_t>(bytes[at + 1]);
    if (marker == 0xFF) {  // padding
      ++at;
      continue;
    }
    const bool is_table = marker == 0xC4 || marker == 0xC8 || marker == 0xCC;
    if (marker >= 0xC0 && marker <= 0xCF && !is_table)
      return ImageSize{big_endian(bytes, at + 7, 2), big_endian(bytes, at + 5, 2)};
    const bool alone = marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
    at += 2 + (alone ? 0 : static_cast<size_t>(big_endian(bytes, at + 2, 2)));
  }
  return std::nullopt;
}

}  // namespace

std::optional<ImageSize> read_image_size(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1A\n"sv)) return png_size(bytes);
  if (bytes.starts_with("\xFF\xD8"sv)) return jpeg_size(bytes);
  if (bytes.starts_with("BM"sv)) return bmp_size(bytes);
  return std::nullopt;
}

}  // namespace sparsebit::io
