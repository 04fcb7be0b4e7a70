#pragma once

namespace onnx {
class ModelProto;
}

namespace sparsebit::frontends {

/// Replaces calls of functions that the model itself defines by their bodies, names made unique.
/// Throws InvalidModel when functions call each other in a circle or grow without measure.
void inline_local_functions(onnx::ModelProto& model);

}  // namespace sparsebit::frontends
