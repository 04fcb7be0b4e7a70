#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sparsebit::exports {

// Subgraphs in the attributes of a node (If, Loop, Scan) can read values of the enclosing graphs.

/// Renames values that a node's subgraphs read from the enclosing graph: old name -> new name.
void rename_captured(onnx::NodeProto& node,
                     const std::unordered_map<std::string, std::string>& names);

/// Adds the names of all values that a node or its subgraphs read.
void collect_uses(const onnx::NodeProto& node, std::unordered_set<std::string>& used);

/// Adds the names of all values that a graph and its subgraphs define.
void collect_definitions(const onnx::GraphProto& graph, std::vector<std::string>& names);

/// Visits a node, then the nodes of its subgraphs.
void for_each_node(const onnx::NodeProto& node,
                   const std::function<void(const onnx::NodeProto&)>& visit);

}  // namespace sparsebit::exports
