#pragma once

#include <onnx/onnx_pb.h>

#include <string>

namespace sparsebit::deploy {

/// The bytes of an ONNX file. Throws Unsupported above 2 GB, protobuf's limit.
std::string onnx_bytes(const onnx::ModelProto& model);

}  // namespace sparsebit::deploy
