#pragma once

#include "sparsebit/fx/ops/value.h"

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace sparsebit::frontends {

class GraphBuilder;
class OperatorSets;

/// Adds an unsupported node to the graph unchanged, so that it can be shown and exported, and
/// defines its results. See docs/concepts/onnx.md for the form.
///
/// @param reason  why the node is not supported; empty for an unknown operator.
void carry_unchanged(GraphBuilder& builder, const onnx::NodeProto& node, const OperatorSets& sets,
                     const std::string& reason);

/// Names that the subgraphs of a node (If, Loop, Scan) capture from outside, each once.
std::vector<std::string> captured_names(const onnx::NodeProto& node);

}  // namespace sparsebit::frontends
