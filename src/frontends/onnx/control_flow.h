#pragma once

namespace sparsebit::frontends {

/// Registers ONNX If and Loop in fx::graph_operators(), so that they can be run. An If whose
/// condition is known during import is replaced by its branch, see import_onnx().
void add_control_flow();

}  // namespace sparsebit::frontends
