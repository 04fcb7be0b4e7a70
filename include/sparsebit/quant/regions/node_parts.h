#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/platforms/platform.h"

#include <vector>

// The inputs and outputs of nodes: items of tuples, and the arguments that are read as integers.

namespace sparsebit::quant {

/// The node whose output tuple this getitem reads, such as split(); null for other nodes.
const fx::Node* part_of(const fx::Node& node);
/// The node that computes a value: part_of() if it is an item of a tuple, else the value itself.
const fx::Node& source_of(const fx::Node& value);
/// The output tensors of a node: itself, or the getitems of its tuple.
std::vector<fx::Node*> results_of(fx::Node& node);

/// A function, method or module call.
bool is_call(const fx::Node& node);
/// True unless the recorded type is not floating point.
bool may_be_floats(const fx::Node& value);
/// False for nodes that are known to output sizes, indices or other values that are not float
/// tensors. If shapes are recorded, a node without one has no tensor output, unless it is a tuple.
bool gives_floats(const fx::Node& node);
/// A parameter, buffer or literal tensor, not a computed value.
bool is_constant(const fx::Value& value);

/// The arguments, with names, that an operator rule reads as integers; the first argument if the
/// rule has no names.
std::vector<std::pair<std::string, const fx::Value*>> integer_arguments(
    const fx::OperatorCall& call, const platforms::OperatorRule& rule);
/// Whether a list of a platform contains a name.
bool contains(const std::vector<std::string>& names, const std::string& name);
/// The shape of a layer's weight, also if it is read through a quantizer; empty if unknown.
std::vector<int64_t> weight_shape(const fx::OperatorCall& call, const fx::GraphModule& module);
/// The nodes in a value, including those in nested sequences.
std::vector<fx::Node*> nodes_in(const fx::Value& value);

}  // namespace sparsebit::quant
