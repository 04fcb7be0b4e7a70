#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sparsebit::exports {

// Graphs inside the attributes of a node (If, Loop, Scan) read values of the graphs around them.

/// Gives what the graphs inside a node read from outside, by old name, its new name.
void rename_captured(onnx::NodeProto& node,
                     const std::unordered_map<std::string, std::string>& names);

/// Adds every name that a node or the graphs inside it read.
void collect_uses(const onnx::NodeProto& node, std::unordered_set<std::string>& used);

/// Adds the names that a graph gives to its own values.
void collect_definitions(const onnx::GraphProto& graph, std::vector<std::string>& names);

/// Visits a node, then the nodes of the graphs inside it.
void for_each_node(const onnx::NodeProto& node,
                   const std::function<void(const onnx::NodeProto&)>& visit);

}  // namespace sparsebit::exports
