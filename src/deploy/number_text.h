#pragma once

#include <charconv>
#include <string>
#include <string_view>

namespace sparsebit::deploy {

/// The shortest text that reads back as the same number.
template <class Number>
std::string number_text(Number value) {
  char text[64];
  const std::to_chars_result end = std::to_chars(text, text + sizeof(text), value);
  return {text, end.ptr};
}

/// Parses a whole text as a number; returns false if it is not one.
template <class Number>
bool read_number(std::string_view text, Number& value) {
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

}  // namespace sparsebit::deploy
