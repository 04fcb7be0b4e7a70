#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/platforms/platform.h"

#include <vector>

// The tensors around a node: parts of tuples, and the arguments that an integer form reads.

namespace sparsebit::quant {

/// The node whose result, a tuple, this is a part of (what split() gives is read by getitem); null
/// for other nodes.
const fx::Node* part_of(const fx::Node& node);
/// The node that computes a value: the one before getitem if it is a part of a tuple.
const fx::Node& source_of(const fx::Node& value);
/// The tensors that a node gives: itself, or the parts of its tuple.
std::vector<fx::Node*> results_of(fx::Node& node);

/// A function, method or module call.
bool is_call(const fx::Node& node);
/// Not known to be integers, a number or a tuple.
bool may_be_floats(const fx::Node& value);
/// Not known to give sizes, indices or other numbers that are no floats. Where shapes were
/// recorded, a node without one gives no tensor, unless it is a tuple of them.
bool gives_floats(const fx::Node& node);
/// A tensor of the model, not one that it computes.
bool is_constant(const fx::Value& value);

/// The arguments that a row says are read as integers, with their names; of an operator without
/// names in the row, the first.
std::vector<std::pair<std::string, const fx::Value*>> integer_arguments(
    const fx::OperatorCall& call, const platforms::OperatorRule& rule);
/// Whether a name is in a list of a platform's description.
bool contains(const std::vector<std::string>& names, const std::string& name);
/// Of a layer's weight, behind its quantizer if it has one; empty when it is not known.
std::vector<int64_t> weight_shape(const fx::OperatorCall& call, const fx::GraphModule& module);
/// The nodes in a value, those in lists as well.
std::vector<fx::Node*> nodes_in(const fx::Value& value);

}  // namespace sparsebit::quant
