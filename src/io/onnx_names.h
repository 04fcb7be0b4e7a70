#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>

namespace sparsebit::io {

/// Whether the bytes are well-formed UTF-8: no overlong forms, surrogates or code points above
/// 0x10FFFF.
bool is_utf8(std::string_view text);

/// Throws InvalidModel, with the position, when a name in the model is not UTF-8, or when two
/// inputs or two initializers of a graph have the same name. Protobuf accepts any bytes, but names
/// appear in messages, tables and JSON, which must be UTF-8.
void check_names(const onnx::ModelProto& model, const std::string& file);

}  // namespace sparsebit::io
