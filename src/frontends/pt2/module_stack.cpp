#include "frontends/pt2/module_stack.h"

namespace sparsebit::frontends::pt2 {
namespace {

/// Removes the text up to and including `separator`, and returns it without the separator.
std::string_view take_until(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

/// torch 2.1 wrote paths as Python: `L['self'].layer1` or `self.layer1`.
std::string_view without_self(std::string_view path) {
  for (const std::string_view self : {"L['self']", "self"}) {
    if (path == self) return {};
    if (path.starts_with(self) && path.substr(self.size()).starts_with('.'))
      return path.substr(self.size() + 1);
  }
  return path;
}

}  // namespace

std::vector<ModuleCall> parse_module_stack(std::string_view text) {
  std::vector<ModuleCall> stack;
  while (!text.empty()) {
    std::string_view entry = take_until(text, ';');
    take_until(entry, ',');
    const std::string_view call = without_self(take_until(entry, ','));
    const std::string_view path = call.substr(0, call.find('@'));
    stack.push_back({std::string(call), std::string(path), std::string(entry)});
  }
  return stack;
}

}  // namespace sparsebit::frontends::pt2
