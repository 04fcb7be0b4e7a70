#include "sparsebit/core/printable.h"

#include <algorithm>
#include <cstdint>

namespace sparsebit {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The bytes of the character that `text` begins with; 0 when that is not UTF-8.
size_t character_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  uint32_t code = first & (0xFF >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if (!is_continuation(text[i])) return 0;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return overlong || surrogate || code > 0x10FFFF ? 0 : size;
}

/// Also those beyond ASCII (U+0080 to U+009F), which some terminals obey.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  return first < ' ' || first == 0x7F ||
         (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t size = character_size(text);
    const std::string_view character = text.substr(0, std::max<size_t>(size, 1));
    if (size == 0) {
      result += '?';
    } else if (is_control(character)) {
      result += ' ';
    } else {
      result += character;
    }
    text.remove_prefix(character.size());
  }
  return result;
}

std::string printable_end(std::string_view text, size_t bytes) {
  if (text.size() > bytes) {
    text.remove_prefix(text.size() - bytes);
    for (int i = 0; i < 3 && !text.empty() && is_continuation(text.front()); ++i)
      text.remove_prefix(1);
  }
  return printable(text);
}

}  // namespace sparsebit
