#pragma once

#include "sparsebit/fx/node.h"

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sparsebit::exports {

/// Whether a node is an ONNX operator that was carried through unchanged because nobody knows it.
bool is_carried(const fx::Node& node);

/// Names that the node's own subgraphs define; nothing outside may have them.
std::vector<std::string> names_inside(const fx::Node& node);

/// The node as it stood in its file, without outputs. `value_name` gives the name of an argument's
/// value, "" for None.
onnx::NodeProto carried_node(const fx::Node& node,
                             const std::function<std::string(const fx::Value&)>& value_name);

/// How many outputs it has.
int64_t carried_outputs(const fx::Node& node);

/// Versions of the domains that it, and what is inside it, was written for.
std::map<std::string, int64_t> carried_domains(const fx::Node& node);

}  // namespace sparsebit::exports
