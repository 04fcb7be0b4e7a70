#pragma once

#include "sparsebit/io/onnx_proto.h"

#include <optional>
#include <string>

namespace sparsebit::io {

/// An attribute of an ONNX node as text, without loss. `form` is its key in graphs that carry it:
///
/// - "onnx": protobuf's text format, where it is lossless
/// - "onnx_base64": the serialized message; for fields newer than the linked ONNX library, and for
///   large attributes
struct AttributeText {
  std::string form;
  std::string text;
};

AttributeText attribute_to_text(const onnx::AttributeProto& attribute);

/// The inverse. Returns nullopt when the form is unknown or the text cannot be parsed.
std::optional<onnx::AttributeProto> attribute_from_text(const std::string& form,
                                                        const std::string& text);

}  // namespace sparsebit::io
