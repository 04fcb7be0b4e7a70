#include "easy/error_text.h"

#include "sparsebit/core/error_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <regex>

namespace sparsebit::easy {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else if (is_control(c)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string in_our_words(const std::string& text) {
  const size_t end = text.find('\n');
  const std::string line = text.substr(0, end);
  const std::string rest = end == std::string::npos ? "" : text.substr(end);
  static const std::regex allocation("can't allocate memory: you tried to allocate (\\d+) bytes");
  std::smatch found;
  if (std::regex_search(line, found, allocation)) {
    const double gigabytes = std::stod(found[1]) / 1e9;
    return fmt::format("not enough memory for a tensor of {:.4g} GB", gigabytes) + rest;
  }
  const bool overflow =
      line.find("overflow") != std::string::npos &&
      (line.find("numel") != std::string::npos || line.find("Storage size") != std::string::npos);
  if (overflow) return "the tensor has too many elements" + rest;
  return text;
}

std::string error_text(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return "not enough memory";
  return in_our_words(message_of(error));
}

std::string on_one_line(std::string text, std::span<const char* const> arguments) {
  for (const std::string_view argument : arguments) {
    if (std::none_of(argument.begin(), argument.end(), is_control)) continue;
    const std::string safe = escaped(argument);
    for (size_t at = text.find(argument); at != std::string::npos;
         at = text.find(argument, at + safe.size())) {
      text.replace(at, argument.size(), safe);
    }
  }
  return text;
}

}  // namespace sparsebit::easy
