#pragma once

#include "sparsebit/fx/ops/value.h"

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace sparsebit::frontends {

class GraphBuilder;
class OperatorSets;

/// Puts a node that is not understood into the graph as it is, so that it is shown and exported
/// unchanged, and defines its results. See docs/concepts/onnx.md for the form.
///
/// @param reason  why it is not understood; empty when the operator is not known at all.
void carry_unchanged(GraphBuilder& builder, const onnx::NodeProto& node, const OperatorSets& sets,
                     const std::string& reason);

/// Names that the subgraphs of a node (If, Loop, Scan) take from outside, each once.
std::vector<std::string> captured_names(const onnx::NodeProto& node);

}  // namespace sparsebit::frontends
