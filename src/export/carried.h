#pragma once

#include "sparsebit/fx/node.h"

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sparsebit::exports {

/// Whether a node is an unknown ONNX operator that is carried through unchanged.
bool is_carried(const fx::Node& node);

/// Value names that the node's subgraphs define; values outside must not use them.
std::vector<std::string> names_inside(const fx::Node& node);

/// The node as it was in its file, without outputs. `value_name` gives the name of an argument's
/// value, "" for None.
onnx::NodeProto carried_node(const fx::Node& node,
                             const std::function<std::string(const fx::Value&)>& value_name);

/// The node's number of outputs.
int64_t carried_outputs(const fx::Node& node);

/// The opset version of each domain used by the node and its subgraphs.
std::map<std::string, int64_t> carried_domains(const fx::Node& node);

}  // namespace sparsebit::exports
