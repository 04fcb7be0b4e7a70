#pragma once

#include "sparsebit/fx/node.h"

#include <onnx/onnx_pb.h>

#include <functional>
#include <optional>
#include <vector>

namespace sparsebit::frontends {

class GraphBuilder;

/// Shapes and types of a node's results, from those of its inputs and from constants, by ONNX's own
/// rules. Nothing for what they cannot tell: never an error, because shapes are help, not truth.
std::vector<std::optional<fx::TensorInfo>> infer_outputs(const onnx::NodeProto& node, int64_t opset,
                                                         const GraphBuilder& known);

/// Nothing for types without a shape, and for element types that libtorch does not have.
std::optional<fx::TensorInfo> tensor_info_of(const onnx::TypeProto& type);

}  // namespace sparsebit::frontends
