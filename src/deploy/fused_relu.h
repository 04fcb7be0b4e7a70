#pragma once

#include "sparsebit/deploy/deploy_model.h"

#include <map>
#include <string>

namespace sparsebit::deploy {

/// Results of convolutions that only a Relu or a Clip from 0 to 6 reads, by the result of that:
/// runtimes compute both as one step, so that both tensors have one range.
std::map<std::string, std::string> convolutions_before_relu(const onnx::GraphProto& graph);

}  // namespace sparsebit::deploy
