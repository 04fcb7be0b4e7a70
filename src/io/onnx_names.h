#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>

namespace sparsebit::io {

/// Whether the bytes are well-formed UTF-8: no overlong forms, surrogates or numbers above
/// 0x10FFFF.
bool is_utf8(std::string_view text);

/// Throws InvalidModel, saying where, when a name of the model is not UTF-8, or when two inputs or
/// two initializers of a graph have the same. Names reach messages, tables and JSON, all of which
/// are UTF-8; protobuf takes any bytes.
void check_names(const onnx::ModelProto& model, const std::string& file);

}  // namespace sparsebit::io
