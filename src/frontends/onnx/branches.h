#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <unordered_set>

namespace sparsebit::frontends {

/// The branch that an If takes for a condition. Throws InvalidModel when the branch is missing or
/// has another number of results than the node.
onnx::GraphProto& branch_of(onnx::NodeProto& node, bool condition);

/// Names of values that a graph defines itself, not counting graphs inside of its nodes.
void add_defined_names(const onnx::GraphProto& graph, std::unordered_set<std::string>& names);

/// Prepares a branch for being inlined into the surrounding graph: renames values whose names are
/// in `taken`, and adds all names of the branch to `taken`.
void make_names_unique(onnx::GraphProto& branch, std::unordered_set<std::string>& taken);

}  // namespace sparsebit::frontends
