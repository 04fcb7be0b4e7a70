#pragma once

#include "sparsebit/fx/module.h"
#include "sparsebit/fx/node.h"
#include "sparsebit/fx/ops/operator.h"

#include <optional>

namespace sparsebit::fx {

/// The operator table's entry for a node's call; null for nodes that are no calls and for unknown
/// functions, methods and modules.
const Spelling* find_spelling(const Node& node, const Module& root);

/// All arguments of a call of an operator module: `in` has the arguments of the call, the module
/// supplies the others (see ModuleForm).
Args bind_module(const Module& module, const Spelling& spelling, const Args& in);

/// A node's call read by argument name, whatever its form: `conv2d` with `weight` and `stride`,
/// be it a torch.nn.Conv2d module or torch.nn.functional.conv2d. Arguments may be nodes.
struct OperatorCall {
  const Operator* op;
  Args args;
};

/// Empty when find_spelling() is null. Throws InvalidModel, naming the node, when the arguments
/// do not fit the operator.
std::optional<OperatorCall> resolve(const Node& node, const Module& root);

/// Whether running the node changes one of its inputs: `Tensor.add_`, `relu(inplace=True)`.
bool mutates_input(const Node& node, const Module& root);

/// Adds tensors to a module, creating children for names with a dot.
void install_state(Module& module, const ModuleState& state, Grad grad = Grad::Required);

}  // namespace sparsebit::fx
