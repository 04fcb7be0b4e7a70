#include "frontends/torchscript/called_names.h"

#include <algorithm>
#include <cctype>

namespace sparsebit::frontends::torchscript {
namespace {

bool is_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); }

}  // namespace

std::set<std::string> called_names(std::string_view code, std::string_view prefix) {
  std::set<std::string> names;
  for (size_t at = code.find(prefix); at != std::string_view::npos; at = code.find(prefix, at)) {
    const bool is_whole = at == 0 || !(is_name(code[at - 1]) || code[at - 1] == '.');
    at += prefix.size();
    const auto end = std::find_if_not(code.begin() + static_cast<std::ptrdiff_t>(at), code.end(),
                                      [](char c) { return is_name(c) || c == '.'; });
    const std::string_view name(code.begin() + static_cast<std::ptrdiff_t>(at), end);
    if (is_whole && !name.empty() && end != code.end() && *end == '(') names.emplace(name);
  }
  return names;
}

}  // namespace sparsebit::frontends::torchscript
