#pragma once

#include "frontends/torchscript/builder.h"
#include "frontends/torchscript/example_sizes.h"
#include "frontends/torchscript/source_model.h"

#include <torch/csrc/jit/ir/ir.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sparsebit::frontends::torchscript {

class Interpreter;

/// Decides whether a call of a module's method becomes a leaf or is inlined.
class ModuleCalls {
 public:
  virtual ~ModuleCalls() = default;
  /// The result of calling a leaf; empty when the module is to be inlined.
  virtual std::optional<ScriptValue> call_leaf(Interpreter& interpreter,
                                               const torch::jit::Module& module,
                                               const std::string& path, const std::string& method,
                                               const ScriptValues& args) = 0;
};

/// Thrown when an input with a default decides a branch, so that it has to be fixed.
struct InputDecides {
  std::string input;
};

/// Runs TorchScript code on partially known values, and writes operations that cannot be evaluated
/// during import as nodes. Control flow must be decidable during import.
class Interpreter {
 public:
  Interpreter(GraphBuilder& builder, SourceModel& source, ModuleCalls& calls)
      : builder_(builder), source_(source), calls_(calls) {}

  /// @param owner  path of the module that owns the method; the current module for a plain
  /// function.
  ScriptValue run_function(torch::jit::Function& function, ScriptValues args,
                           const std::string* owner = nullptr);

  GraphBuilder& builder() { return builder_; }
  SourceModel& source() { return source_; }

  /// The items of a node that stands for a list; empty when their number does not follow from
  /// sizes.
  std::optional<ScriptValues> items_by_sizes(const ScriptValue& datum);

  /// Names of placeholders that may still be fixed at their default.
  std::vector<const fx::Node*> fixable_inputs;

  /// Evaluates values that follow from the sizes of the inputs; null without given shapes.
  ExampleSizes* sizes = nullptr;

  /// Number of branches that were decided by these sizes.
  int64_t size_decisions = 0;

 private:
  using Env = std::unordered_map<const torch::jit::Value*, ScriptValue>;

  ScriptValues run_block(torch::jit::Block& block, Env& env);
  void run_node(torch::jit::Node& node, Env& env);
  void run_if(torch::jit::Node& node, Env& env);
  void run_loop(torch::jit::Node& node, Env& env);
  ScriptValue call_method(torch::jit::Node& node, const ScriptValues& in);
  ScriptValue call_function(ScriptValues in);
  std::optional<ScriptValues> run_builtin(torch::jit::Node& node, const ScriptValues& in);
  std::optional<ScriptValues> evaluate(torch::jit::Node& node, const ScriptValues& given);
  bool condition(const ScriptValue& datum, const char* what);
  /// The datum, or its value when that follows from the inputs' sizes.
  ScriptValue settled(const ScriptValue& datum);
  [[noreturn]] void fail_unknown(const ScriptValue& datum, const char* what);
  /// The value of a condition; empty when unknown.
  std::optional<bool> known_condition(const ScriptValue& datum) const;
  [[noreturn]] void rethrow_located(const torch::jit::Node& node, const Error& error);

  GraphBuilder& builder_;
  SourceModel& source_;
  ModuleCalls& calls_;
  bool error_located_ = false;
  bool shapes_would_help_ = false;  // given shapes could avoid the current error
  int depth_ = 0;                   // of calls
  int block_depth_ = 0;             // of blocks, over all calls
};

/// The result of a query of the environment (device, gradients, modes); empty for other nodes.
/// environment_queries.cpp.
std::optional<ScriptValues> answer_question(Interpreter& interpreter, const torch::jit::Node& node,
                                            const ScriptValues& in);
/// The node's inputs, where a device that is known only when the model runs is the CPU.
ScriptValues on_cpu(const torch::jit::Node& node, ScriptValues in);
/// Evaluates operations of the `prim` namespace and queries of values; empty for other nodes, and
/// for nodes that depend on data. prim.cpp.
std::optional<ScriptValues> run_prim(Interpreter& interpreter, torch::jit::Node& node,
                                     const ScriptValues& in);
/// Evaluates operations on lists and dicts that contain nodes or are modified. containers.cpp.
std::optional<ScriptValues> run_container(Interpreter& interpreter, torch::jit::Node& node,
                                          const ScriptValues& in);
/// Whether a node calls an operator of another library, whose semantics are unknown.
bool is_foreign(const torch::jit::Node& node);
/// Writes any other operator as a node of the graph. aten.cpp.
ScriptValues write_operator(GraphBuilder& builder, torch::jit::Node& node, const ScriptValues& in);
/// Writes a function of torch.nn.functional or torchvision that is in the operator table; empty
/// when it is to be inlined.
std::optional<ScriptValue> write_function(GraphBuilder& builder,
                                          const torch::jit::Function& function,
                                          const ScriptValues& in);

}  // namespace sparsebit::frontends::torchscript
