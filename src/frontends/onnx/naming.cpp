#include "frontends/onnx/naming.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace sparsebit::frontends {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::erase_if(parts, [](const std::string& part) { return part.empty(); });
  return parts;
}

}  // namespace

std::string without_control_characters(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return name;
}

std::string describe(const onnx::NodeProto& node) {
  std::string name = node.name();
  for (const std::string& output : node.output()) {  // the first may be left out
    if (name.empty()) name = output;
  }
  return without_control_characters("node '" + name + "' (" + node.op_type() + ")");
}

std::string as_path(const std::string& name) {
  std::string path;
  for (const char c : name) {
    const bool separates = c == '.' || c == '/' || c == ':';
    if (separates) {
      if (!path.empty() && path.back() != '.') path += '.';
    } else {
      const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
      path += plain ? c : '_';
    }
  }
  while (!path.empty() && path.back() == '.') path.pop_back();
  return path;
}

std::string path_from_node_name(const std::string& name) {
  std::vector<std::string> parts = split(name, '/');
  if (parts.size() > 1) parts.pop_back();
  std::string path, last;
  for (const std::string& part : parts) {
    // torch writes both `layer1/0` and `layer1/layer1.0`
    const bool repeats = !last.empty() && part.starts_with(last + ".");
    path = repeats ? path + part.substr(last.size()) : (path.empty() ? part : path + "." + part);
    last = part;
  }
  return as_path(path);
}

std::string path_from_tensor_name(const std::string& name) {
  static constexpr std::array<std::string_view, 11> suffixes = {
      ".weight", "_weight", "/weight", ".kernel",       "/kernel",  "_kernel",
      ".gamma",  "_gamma",  "/gamma",  ".weight_ih_l0", ".weight_t"};  // the last is transposed
  for (const std::string_view suffix : suffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      return as_path(name.substr(0, name.size() - suffix.size()));
    }
  }
  return "";
}

}  // namespace sparsebit::frontends
