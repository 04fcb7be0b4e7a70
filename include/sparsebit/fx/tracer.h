#pragma once

#include "sparsebit/core/error.h"
#include "sparsebit/fx/graph_module.h"

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sparsebit::fx {

struct TraceOptions {
  /// Arguments of the model's forward that are fixed; they do not become placeholders.
  std::map<std::string, Value> concrete_args;
  /// Attributes or submodules to carry over although forward does not use them, by the dotted path
  /// of their owner ("" = the model itself).
  std::map<std::string, std::vector<std::string>> preserve;
};

/// Turns a model into a graph by running its forward once on values that stand for nodes.
///
/// A leaf module becomes one call_module node; any other module is entered. Control flow is decided
/// while tracing; control flow that depends on data is an error that names the module.
class Tracer {
 public:
  virtual ~Tracer() = default;

  /// The result shares parameters and leaf modules with `model` and has its type name.
  std::unique_ptr<GraphModule> trace(Module& model, const TraceOptions& options = {});

  /// Whether tracing stops at this module. Default: everything under torch.nn except Sequential.
  virtual bool is_leaf_module(const Module& module, const std::string& path);

  /// The tracer active in this thread, or null. The functions below are for modules and operators
  /// that run while it traces.
  static Tracer* current();
  /// How code that may run under a tracer reads a tensor of the model: its node while tracing, else
  /// the tensor itself (None when it is undefined).
  static Value read(const at::Tensor& tensor);

  Value record(Opcode op, std::string target, std::vector<Value> args, Kwargs kwargs);
  Value call_module(Module& module, std::span<const Value> args, const Kwargs& kwargs);
  /// A get_attr node for a tensor of the model, or for a constant, which is then stored in the
  /// result as `_tensor_constantN`.
  Value tensor_node(const at::Tensor& tensor);

 private:
  class Scope;

  void index_model(Module& model);
  Value run_forward(Module& module, const std::string& path, const Args& in);
  std::vector<Value> make_inputs(const Schema& signature, const TraceOptions& options);
  Value to_argument(const Value& value);
  std::string constant_name();
  void locate(Error& error, const std::string& path, const std::string& type);
  void preserve(const Module& model, GraphModule& result, const TraceOptions& options) const;

  const Module* model_ = nullptr;
  std::unique_ptr<Graph> graph_;
  std::unordered_map<const Module*, std::string> module_paths_;
  std::unordered_map<const c10::TensorImpl*, std::string> tensor_paths_;
  std::unordered_map<const c10::TensorImpl*, Node*> tensor_nodes_;
  NamedTensors constants_;
  int64_t next_constant_ = 0;
  std::string scope_;           // path of the module whose forward is running
  bool error_located_ = false;  // the innermost module has added its frame
};

/// The tracer of quantization: leaf modules are those of torch.nn except Sequential, and those
/// whose dotted path matches a pattern (SKIP_TRACE_MODULES), which stay as one opaque node.
class QTracer : public Tracer {
 public:
  /// @param skipped_modules  shell patterns on dotted paths, as in Python's fnmatch.
  explicit QTracer(std::vector<std::string> skipped_modules);

  bool is_leaf_module(const Module& module, const std::string& path) override;
  /// Patterns that matched no module that was called so far; worth a warning.
  std::vector<std::string> unmatched_patterns() const;

 private:
  std::vector<std::string> skipped_modules_;
  std::vector<bool> matched_;
};

}  // namespace sparsebit::fx
