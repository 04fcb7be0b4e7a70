#pragma once

namespace sparsebit::frontends {

/// Makes If and Loop of files known to fx::graph_operators(), so that they can be run. If with a
/// condition that is known never becomes a node of its own, see import_onnx().
void add_control_flow();

}  // namespace sparsebit::frontends
