#pragma once

#include "sparsebit/frontends/onnx.h"

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <string>

namespace sparsebit::frontends {

/// A graph inside a node (a branch of If, the body of Loop) as a module of its own. Inputs of the
/// graph are inputs of the module.
/// @param model  holds the graph, and the operator sets of the surrounding file.
/// @param given  the values that the graph captures from outside, as constants.
std::unique_ptr<fx::GraphModule> import_inner_graph(onnx::ModelProto&& model,
                                                    const std::map<std::string, at::Tensor>& given,
                                                    const std::string& name);

}  // namespace sparsebit::frontends
