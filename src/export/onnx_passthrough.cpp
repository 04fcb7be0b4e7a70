// Operators that only ONNX has, and those nobody knows: written back as they came.

#include "export/exporter.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>
#include <google/protobuf/text_format.h>
#include <onnx/defs/schema.h>

namespace sparsebit::exports {
namespace {

using fx::Node;
using fx::Value;

/// "onnx.com.microsoft.Gelu" -> {"com.microsoft", "Gelu"}
std::pair<std::string, std::string> domain_and_type(const std::string& target) {
  const std::string path = target.substr(std::string("onnx.").size());
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace

Val Exporter::carry_through(const Node& node) {
  const auto [domain, type] = domain_and_type(node.target());
  const Value* opset = node.kwarg("_opset");
  const Value* outputs = node.kwarg("_outputs");
  (void)opset;
  (void)outputs;
  throw Error(ErrorKind::Unsupported, "not yet: " + type + domain);
}

}  // namespace sparsebit::exports
