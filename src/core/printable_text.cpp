#include "sparsebit/core/printable_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sparsebit {
namespace {

struct Utf8Character {
  size_t bytes = 1;
  char32_t code = 0;
  bool is_valid = false;
};

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Bytes of a character by its first one; 0: no character starts like that.
size_t length_from(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

/// The first character of `text`, which is not empty. Overlong forms and surrogates are not valid.
Utf8Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t bytes = length_from(first);
  if (bytes == 0 || bytes > text.size()) return {};
  char32_t code = bytes == 1 ? first : first & (0x7F >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if (!continues(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) return {};
  return {bytes, code, true};
}

bool changes_direction(char32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F ||  // marks
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

bool is_hidden(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code <= 0x9F);
  return control || code == 0x2028 || code == 0x2029 || changes_direction(code);
}

void append_escaped(std::string& to, char32_t code) {
  const auto number = static_cast<uint32_t>(code);
  if (code == '\n') {
    to += "\\n";
  } else if (code == '\r') {
    to += "\\r";
  } else if (code == '\t') {
    to += "\\t";
  } else {
    to += number < 0x20 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
  }
}

void append_printable(std::string& to, std::string_view bytes, const Utf8Character& character) {
  if (!character.is_valid) {
    to += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[0]));
  } else if (is_hidden(character.code)) {
    append_escaped(to, character.code);
  } else {
    to += bytes;
  }
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) at += first_character(text.substr(at)).bytes;
  return count;
}

}  // namespace

std::string printable(std::string_view text, size_t most) {
  std::string result;
  size_t at = 0;
  for (size_t count = 0; at < text.size() && count < most; ++count) {
    const Utf8Character character = first_character(text.substr(at));
    append_printable(result, text.substr(at, character.bytes), character);
    at += character.bytes;
  }
  if (at == text.size()) return result;
  return result + fmt::format("... ({} more characters)", count_characters(text.substr(at)));
}

std::string printable_lines(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = first_character(text.substr(at));
    const std::string_view bytes = text.substr(at, character.bytes);
    const bool ends_line = bytes == "\n" || text.substr(at, 2) == "\r\n";
    if (ends_line || bytes == "\t") {
      result += bytes;
    } else {
      append_printable(result, bytes, character);
    }
    at += character.bytes;
  }
  return result;
}

size_t complete_bytes(std::string_view text) {
  constexpr size_t kLongest = 4;
  if (text.ends_with('\r')) return text.size() - 1;
  for (size_t back = 1; back <= std::min(kLongest - 1, text.size()); ++back) {
    const char byte = text[text.size() - back];
    if (continues(byte)) continue;
    const bool is_cut = length_from(static_cast<unsigned char>(byte)) > back;
    return is_cut ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace sparsebit
