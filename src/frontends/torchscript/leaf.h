#pragma once

#include "frontends/torchscript/interpreter.h"
#include "sparsebit/fx/module.h"

#include <optional>
#include <string>
#include <unordered_map>

namespace sparsebit::frontends::torchscript {

/// The module form in the operator table for a class of the file; null when there is none, as for
/// Sequential, ModuleList and other containers.
const fx::Spelling* module_spelling(const torch::jit::Module& module);

/// Parameters and buffers of a leaf and its children, under the names that `spelling` expects.
fx::ModuleState state_of(const fx::Module& mirror, const fx::Spelling& spelling);

/// Constructor arguments that state whether a tensor exists, such as `bias`.
std::optional<fx::Value> implied_argument(const fx::Module& mirror, const std::string& argument);

/// As fx::make_module with the tensors of `mirror`, whose mode and gradient flags are kept.
fx::ModulePtr make_leaf(const fx::Spelling& spelling, const fx::Kwargs& constructor,
                        const fx::Module& mirror);

/// A scripted leaf: its constructor's arguments are constants or attributes of its class. Null when
/// they are missing, as in a traced file.
fx::ModulePtr leaf_from_constants(const torch::jit::Module& module, const fx::Spelling& spelling,
                                  const fx::Module& mirror);

/// How a call of a traced leaf is converted: it may have fewer inputs than the class, or in another
/// order, and fewer results.
struct TracedLeaf {
  fx::ModulePtr module;
  std::shared_ptr<fx::Graph> graph;           ///< the code of the traced call; owns the nodes below
  std::vector<const fx::Node*> placeholders;  ///< inputs of the traced call
  std::vector<fx::Value> inputs;              ///< of our module, in terms of `placeholders`
  const fx::Node* core = nullptr;             ///< the call of the operator
  bool first_only = false;  ///< our module returns only the first item of the tuple
  fx::Value output;         ///< of the traced call, in terms of `core`
};

/// A traced leaf: the constructor's arguments are constants in the code of its forward. Empty when
/// that code is not a plain call of the operator of the class; the module is then inlined.
std::optional<TracedLeaf> leaf_from_graph(const fx::Spelling& spelling,
                                          const torch::jit::Module& module,
                                          torch::jit::Function& method, const ScriptValues& args,
                                          SourceModel& source);

/// The same for torch.nn.MultiheadAttention.
///
/// @param leaf  holds the code: graph, placeholders and output.
std::optional<TracedLeaf> attention_from_code(const fx::Spelling& spelling,
                                              const fx::Module& mirror, SourceModel& source,
                                              TracedLeaf leaf);

/// Writes a call of `leaf` into the graph and returns its result.
ScriptValue call_traced(GraphBuilder& builder, const TracedLeaf& leaf, const std::string& path,
                        const ScriptValues& args);

}  // namespace sparsebit::frontends::torchscript
