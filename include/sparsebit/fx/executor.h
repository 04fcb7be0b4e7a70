#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/ops/operator.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sparsebit::fx {

/// Whether a run records gradients.
enum class RunMode {
  Autograd,   ///< the caller's gradient mode applies; what training needs
  Inference,  ///< no gradients, least memory
};

/// Kernels that replace those of operators, by canonical name: to imitate another runtime.
using Kernels = std::map<std::string, Kernel, std::less<>>;

/// The arguments of one node's call, nodes replaced by their values.
struct NodeCall {
  std::vector<Value> args;
  Kwargs kwargs;
};

/// Nodes whose results a caller observes while a graph runs: calibration, profiling. An engine that
/// fuses nodes computes these separately.
struct Taps {
  std::vector<const Node*> nodes = {};  ///< the observed nodes; may include placeholders
  std::function<void(const Node&, const Value&)> see = {};
};

/// Runs a graph. The Interpreter is the reference; a faster engine implements the same interface,
/// so that calibration, profiling, evaluation and certificates work with either.
class Executor {
 public:
  virtual ~Executor() = default;

  /// @param inputs  one value per placeholder, in order; trailing ones may be left to defaults.
  /// @returns what the graph's output node returns.
  virtual Value run(std::vector<Value> inputs, const Taps& taps = {}) = 0;

  /// Runs one node with the given arguments, which it may move from: for callers that traverse the
  /// graph themselves. A tap may call it during run().
  virtual Value run_node(const Node& node, NodeCall& call) = 0;
};

struct ExecutorOptions {
  RunMode mode = RunMode::Autograd;
  const Kernels* kernels = nullptr;  ///< null: ATen's own; must outlive the executor
  bool skip_uncomputable = false;    ///< unknown operators and nodes downstream give None
};

/// Makes an executor for a module, which must outlive it.
using ExecutorFactory =
    std::function<std::unique_ptr<Executor>(GraphModule&, const ExecutorOptions&)>;

/// The Interpreter.
std::unique_ptr<Executor> make_interpreter(GraphModule& module, const ExecutorOptions& options);

}  // namespace sparsebit::fx
