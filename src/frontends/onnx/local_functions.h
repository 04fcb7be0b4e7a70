#pragma once

namespace onnx {
class ModelProto;
}

namespace sparsebit::frontends {

/// Replaces calls of functions that the model itself defines by their bodies, names made unique;
/// in subgraphs as well. Operator sets that only functions name are added to the model's.
///
/// Throws InvalidModel when functions call each other in a circle, and Unsupported when they grow
/// without measure or are written for operators that differ from those the model uses.
void inline_local_functions(onnx::ModelProto& model);

}  // namespace sparsebit::frontends
