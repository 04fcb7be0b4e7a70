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

/// Other kernels for operators, by canonical name: for runs that imitate another library.
using Kernels = std::map<std::string, Kernel, std::less<>>;

/// The arguments of one node's call, nodes replaced by their values.
struct NodeCall {
  std::vector<Value> args;
  Kwargs kwargs;
};

/// Results that a caller wants to see while a graph runs: calibration, profiling. An engine that
/// fuses steps keeps these apart.
struct Taps {
  std::vector<const Node*> nodes = {};  ///< whose results are shown; placeholders may be among them
  std::function<void(const Node&, const Value&)> see = {};
};

/// Runs a graph. The Interpreter is the reference; a faster engine implements the same interface,
/// so that what drives it (calibration, profiling, evaluation, certificates) never learns which
/// one it has.
class Executor {
 public:
  virtual ~Executor() = default;

  /// @param inputs  one value per placeholder, in order; trailing ones may be left to defaults.
  /// @returns what the graph's output node returns.
  virtual Value run(std::vector<Value> inputs, const Taps& taps = {}) = 0;

  /// Runs one node with the arguments given, which it may use up: for those who walk the graph in
  /// their own way. A tap may call it while run() is under way.
  virtual Value run_node(const Node& node, NodeCall& call) = 0;
};

struct ExecutorOptions {
  RunMode mode = RunMode::Autograd;
  const Kernels* kernels = nullptr;  ///< null: ATen's own; must outlive the executor
  bool skip_uncomputable = false;    ///< unknown operators and their readers give None
};

/// Makes an executor for a module, which must outlive it.
using ExecutorFactory =
    std::function<std::unique_ptr<Executor>(GraphModule&, const ExecutorOptions&)>;

/// The Interpreter.
std::unique_ptr<Executor> make_interpreter(GraphModule& module, const ExecutorOptions& options);

}  // namespace sparsebit::fx
