#pragma once

#include "sparsebit/deploy/deploy_model.h"

#include <map>
#include <string>

namespace sparsebit::deploy {

/// Outputs of convolutions whose only consumer is a Relu or a Clip from 0 to 6, by the output of
/// that consumer. Runtimes fuse the two nodes, so both tensors have the same range.
std::map<std::string, std::string> convolutions_before_relu(const onnx::GraphProto& graph);

}  // namespace sparsebit::deploy
