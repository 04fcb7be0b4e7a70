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

/// Decides what happens to a call of a module's method.
class ModuleCalls {
 public:
  virtual ~ModuleCalls() = default;
  /// The result when the module is a leaf that was called; nothing when it is to be entered.
  virtual std::optional<ScriptValue> call_leaf(Interpreter& interpreter,
                                               const torch::jit::Module& module,
                                               const std::string& path, const std::string& method,
                                               const ScriptValues& args) = 0;
};

/// Thrown when an input with a default decides what the model does, so that it has to be fixed.
struct InputDecides {
  std::string input;
};

/// Runs TorchScript code on values of which only some are known, and writes what cannot be computed
/// now as nodes. Control flow has to be known.
class Interpreter {
 public:
  Interpreter(GraphBuilder& builder, SourceModel& source, ModuleCalls& calls)
      : builder_(builder), source_(source), calls_(calls) {}

  /// @param owner  path of the module whose method it is; the current one for a plain function.
  ScriptValue run_function(torch::jit::Function& function, ScriptValues args,
                           const std::string* owner = nullptr);

  GraphBuilder& builder() { return builder_; }
  SourceModel& source() { return source_; }

  /// The items of a node that stands for a list; nothing when sizes do not tell how many there are.
  std::optional<ScriptValues> items_by_sizes(const ScriptValue& datum);

  /// Names of placeholders that may still be fixed at their default.
  std::vector<const fx::Node*> fixable_inputs;

  /// Knows what follows from the sizes of the inputs; null when nobody does.
  ExampleSizes* sizes = nullptr;

  /// How often these sizes decided what the model does.
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
  /// The value of a condition, or nothing when it is not known.
  std::optional<bool> known_condition(const ScriptValue& datum) const;
  [[noreturn]] void rethrow_located(const torch::jit::Node& node, const Error& error);

  GraphBuilder& builder_;
  SourceModel& source_;
  ModuleCalls& calls_;
  bool error_located_ = false;
  bool shapes_would_help_ = false;  // against the error that is thrown
  int depth_ = 0;                   // of calls
  int block_depth_ = 0;             // of blocks, over all calls
};

/// The answer when it follows from how the model is read, not from its inputs.
/// environment_queries.cpp.
std::optional<ScriptValues> answer_question(Interpreter& interpreter, const torch::jit::Node& node,
                                            const ScriptValues& in);
/// The node's inputs, where a device that is known only when the model runs is the CPU.
ScriptValues on_cpu(const torch::jit::Node& node, ScriptValues in);
/// Values of the `prim` namespace and questions about values; nothing when the node is something
/// else or needs the model to run. prim.cpp.
std::optional<ScriptValues> run_prim(Interpreter& interpreter, torch::jit::Node& node,
                                     const ScriptValues& in);
/// Lists and dicts that contain nodes, and what changes a list or dict. containers.cpp.
std::optional<ScriptValues> run_container(Interpreter& interpreter, torch::jit::Node& node,
                                          const ScriptValues& in);
/// Whether it is an operator of another library, whose name says nothing about what it does.
bool is_foreign(const torch::jit::Node& node);
/// Everything else, as a node of the graph. aten.cpp.
ScriptValues write_operator(GraphBuilder& builder, torch::jit::Node& node, const ScriptValues& in);
/// A function of torch.nn.functional or torchvision that the operator table has; nothing when it
/// is to be entered.
std::optional<ScriptValue> write_function(GraphBuilder& builder,
                                          const torch::jit::Function& function,
                                          const ScriptValues& in);

}  // namespace sparsebit::frontends::torchscript
