#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_set>

namespace sparsebit::frontends {

/// The branch that an If takes for a condition. Throws InvalidModel when it has none, or one with
/// another number of results.
onnx::GraphProto& branch_of(onnx::NodeProto& node, bool condition);

/// Names of values that a graph defines itself, not counting graphs inside of its nodes.
void add_defined_names(const onnx::GraphProto& graph, std::unordered_set<std::string>& names);

/// Before the nodes of a branch are put into the graph around it: values whose names are taken
/// there get others. All names of the branch are taken afterwards.
void make_names_unique(onnx::GraphProto& branch, std::unordered_set<std::string>& taken);

}  // namespace sparsebit::frontends
