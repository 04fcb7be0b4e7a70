#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

namespace sparsebit::io {

/// An attribute of an ONNX node as text, nothing of it lost. Which form it has is its key in graphs
/// that carry it:
///
/// - "onnx": protobuf's text form, for whatever that form can say exactly
/// - "onnx_base64": the message's bytes; for fields newer than the linked ONNX library, and for
///   large ones
struct AttributeText {
  std::string form;
  std::string text;
};

AttributeText attribute_to_text(const onnx::AttributeProto& attribute);

/// The inverse. Nothing when the form is unknown or the text is not of that form.
std::optional<onnx::AttributeProto> attribute_from_text(const std::string& form,
                                                        const std::string& text);

}  // namespace sparsebit::io
