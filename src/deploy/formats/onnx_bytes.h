#pragma once

#include <onnx/onnx_pb.h>

#include <string>

namespace sparsebit::deploy {

/// The bytes of an ONNX file. Throws Unsupported above 2 GB, which vendors' tools do not take.
std::string onnx_bytes(const onnx::ModelProto& model);

}  // namespace sparsebit::deploy
