#include "quant/calibration/sequence.h"

#include "quant/quantizers/quantizers_as_before.h"

#include "sparsebit/core/error_context.h"
#include "sparsebit/core/parallel.h"
#include "sparsebit/fx/computable.h"
#include "sparsebit/fx/executor.h"
#include "sparsebit/fx/memory_groups.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_map>

namespace sparsebit::quant {
namespace {

using fx::Node;

/// Runs the graph node by node, each node with all samples before the next.
class Sequence {
 public:
  Sequence(fx::GraphModule& module, const std::vector<QuantPoint>& points, ValueStore& store,
           const CalcOptions& options, fx::Executor& executor)
      : module_(module),
        store_(store),
        options_(options),
        executor_(executor),
        memory_(module),
        uncomputable_(fx::uncomputable_nodes(module)) {
    for (const QuantPoint& point : points) {
      if (!point.observed) continue;
      points_[point.name] = &point;
      ++unseen_[point.quantizer.get()];
    }
    for (const Node& node : module.graph().nodes()) {
      last_user_[&node] = &node;
      for (const Node* input : node.inputs()) last_user_[input] = &node;
    }
  }

  void run(const std::vector<std::vector<int64_t>>& samples) {
    samples_ = samples.size();
    size_t input = 0;
    for (const Node& node : module_.graph().nodes()) {
      if (node.op() == fx::Opcode::Output) break;
      if (uncomputable_.contains(&node)) {
        // depends on an unknown operator: no range to find downstream
      } else if (node.op() == fx::Opcode::Placeholder) {
        take_input(node, samples, input++);
      } else {
        calibrate_at(node);
        run_node(node);
      }
      drop_unused_after(node);
      if (options_.on_node) options_.on_node(std::ssize(last_user_) - 1);  // without the output
    }
  }

 private:
  /// An input that is not given has a default, or running the node throws.
  void take_input(const Node& node, const std::vector<std::vector<int64_t>>& samples, size_t i) {
    const bool is_given = !samples.empty() && i < samples.front().size();
    if (!is_given) return run_node(node);
    for (const std::vector<int64_t>& sample : samples) {
      const bool moves = memory_.is_written(node);
      ids_[&node].push_back(moves ? put(node, store_.get(sample[i])) : sample[i]);
      if (moves) store_.drop(sample[i]);
    }
  }

  /// Values that are modified in place stay in memory, because all consumers must see the change.
  int64_t put(const Node& node, fx::Value value) {
    return store_.put(std::move(value), memory_.is_written(node) ? ValueStore::Where::Memory
                                                                 : ValueStore::Where::Anywhere);
  }

  /// A scale that several values share is computed at the last of them.
  void calibrate_at(const Node& node) {
    const auto it = points_.find(node.name());
    if (it == points_.end()) return;
    const QuantPoint& point = *it->second;
    with_context(
        [&] {
          observe(*node.inputs().front(), *point.quantizer);
          if (--unseen_[point.quantizer.get()] > 0) return;
          point.quantizer->calibrate();
          point.quantizer->set_enabled(point.is_activation() ? options_.a_quant : options_.w_quant);
        },
        [&] { return point.place(); });
  }

  void observe(const Node& value, Quantizer& quantizer) const {
    const size_t times = is_constant(value) ? 1 : samples_;
    for (size_t i = 0; i < times; ++i) {
      const fx::Value seen = value_of(value, i);
      const bool is_float = seen.is_tensor() && seen.tensor().is_floating_point();
      if (!is_float) quantizer.switch_off({DecisionKind::ValuesNotFloat, value.name()});
      if (is_float) quantizer.observe(seen.tensor());
    }
  }

  /// A node that does not depend on the samples is computed once.
  void run_node(const Node& node) {
    const auto& inputs = node.inputs();
    const bool constant = std::all_of(inputs.begin(), inputs.end(),
                                      [&](const Node* input) { return is_constant(*input); });
    if (constant && !memory_.is_written(node)) {
      constants_.emplace(&node, result_of(node, 0));
      return;
    }
    for (size_t i = 0; i < samples_; ++i) ids_[&node].push_back(put(node, result_of(node, i)));
  }

  fx::Value result_of(const Node& node, size_t sample) {
    fx::NodeCall call;
    std::tie(call.args, call.kwargs) =
        node.map_arguments([&](Node& input) { return value_of(input, sample); });
    return executor_.run_node(node, call);
  }

  bool is_constant(const Node& node) const { return constants_.contains(&node); }

  fx::Value value_of(const Node& node, size_t sample) const {
    const auto it = constants_.find(&node);
    return it != constants_.end() ? it->second : store_.get(ids_.at(&node)[sample]);
  }

  void drop_unused_after(const Node& node) {
    const auto drop = [&](const Node* value) {
      if (last_user_.at(value) != &node) return;
      for (const int64_t id : ids_[value]) store_.drop(id);
      ids_.erase(value);
      constants_.erase(value);
    };
    for (const Node* input : node.inputs()) drop(input);
    drop(&node);
  }

  fx::GraphModule& module_;
  ValueStore& store_;
  CalcOptions options_;
  fx::Executor& executor_;
  fx::MemoryGroups memory_;
  std::unordered_map<const Node*, const Node*> uncomputable_;
  size_t samples_ = 0;
  std::unordered_map<std::string_view, const QuantPoint*> points_;  // by node name
  std::unordered_map<const Quantizer*, int> unseen_;  // number of points still to observe
  std::unordered_map<const Node*, const Node*> last_user_;
  std::unordered_map<const Node*, fx::Value> constants_;
  std::unordered_map<const Node*, std::vector<int64_t>> ids_;  // ids in the store, of each sample
};

}  // namespace

void calibrate_in_sequence(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                           ValueStore& store, const std::vector<std::vector<int64_t>>& samples,
                           const CalcOptions& options, const fx::ExecutorFactory& executors) {
  const at::NoGradGuard no_gradients;
  const OneThread same_bits;
  const QuantizersAsBefore all_off(points);
  const auto executor = executors(module, {});
  Sequence(module, points, store, options, *executor).run(samples);
}

}  // namespace sparsebit::quant
