#pragma once

#include "sparsebit/fx/executor.h"

#include <functional>
#include <unordered_map>
#include <vector>

namespace sparsebit::fx {

/// Functions around each node that is executed (placeholders and the output node included).
/// Either may be empty. Calibration, profiling and recording are hooks, so nothing else needs to
/// walk a graph.
struct NodeHook {
  std::function<void(const Node&, NodeCall&)> before;  ///< may change the arguments
  std::function<void(const Node&, Value&)> after;      ///< may replace the result
};

/// Runs a graph node by node and frees every value after its last use.
///
/// An error inside a node gains a line with the node's name, target and argument shapes.
class Interpreter : public Executor {
 public:
  /// `module` must outlive this object. Its graph may be edited between runs.
  explicit Interpreter(GraphModule& module, RunMode mode = RunMode::Autograd);

  /// Hooks run in the order in which they were added.
  void add_hook(NodeHook hook);

  /// From now on these kernels replace those of their operators. They must outlive this object.
  void use_kernels(const Kernels& kernels) { kernels_ = &kernels; }

  /// From now on nodes that cannot be computed give None instead of an error, see
  /// uncomputable_nodes(). Neither hooks nor taps are called for them.
  void skip_uncomputable() { skips_uncomputable_ = true; }

  Value run(std::vector<Value> inputs, const Taps& taps = {}) override;

  /// Calls no hooks.
  Value run_node(const Node& node, NodeCall& call) override;

 private:
  struct Step {
    const Node* node;
    std::vector<size_t> last_uses;  // steps whose values are freed after this one
  };

  void plan();
  Value run_steps(std::vector<Value> inputs, const Taps& taps);
  Value dispatch(const Node& node, NodeCall& call);
  const Kernel* other_kernel(const Spelling* spelling) const;
  Value run_other(const Node& node, const Spelling& spelling, const Kernel& kernel,
                  const NodeCall& call);
  Value read_attribute(const Node& node);

  GraphModule& module_;
  RunMode mode_;
  std::vector<NodeHook> hooks_;
  const Kernels* kernels_ = nullptr;
  bool skips_uncomputable_ = false;
  std::unordered_map<const Node*, const Node*> skipped_;
  std::vector<Step> steps_;
  std::unordered_map<const Node*, size_t> step_of_;
  size_t placeholder_count_ = 0;
  uint64_t planned_version_ = ~uint64_t{0};
};

/// Runs the graph once, in eval mode, and notes on each node the shape and type of the tensor it
/// gave. Returns what the model gave; None in place of what cannot be computed. Throws TooLarge for
/// a model whose run would take too many MACs (see WorkLimit).
Value record_shapes(GraphModule& module, std::vector<Value> inputs);

}  // namespace sparsebit::fx
