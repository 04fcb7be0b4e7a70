#pragma once

#include <onnx/onnx_pb.h>

#include <string>

namespace sparsebit::test {

/// A model from ONNX's own text form:
///
///     test::model_from_text("(float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }", 13)
///
/// That form has no dots in names: two underscores stand for one.
onnx::ModelProto model_from_text(const std::string& graph, int opset = 13);

}  // namespace sparsebit::test
