#pragma once

#include <onnx/onnx_pb.h>

#include <vector>

namespace sparsebit::frontends {

/// The nodes in an order in which every input is computed before it is read; the file's own order
/// where that is right. Throws InvalidModel, naming a node, when there is none: an undefined input
/// or a cycle.
std::vector<onnx::NodeProto*> sorted_nodes(onnx::GraphProto& graph);

}  // namespace sparsebit::frontends
