#pragma once

namespace onnx {
class ModelProto;
}

namespace sparsebit::frontends {

/// Inlines calls of model-local functions, with unique value names, in subgraphs as well. Operator
/// sets that only functions name are added to the model's.
///
/// Throws InvalidModel when functions are recursive, and Unsupported when they expand beyond a
/// fixed limit or are written for operators that differ from those the model uses.
void inline_local_functions(onnx::ModelProto& model);

}  // namespace sparsebit::frontends
