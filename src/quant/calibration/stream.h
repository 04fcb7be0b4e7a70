#pragma once

#include "quant/calibration/value_store.h"

#include "sparsebit/fx/executor.h"
#include "sparsebit/fx/memory_groups.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace sparsebit::quant {

/// Runs a graph node by node, each node with all samples before the next, so that what is decided
/// at a node takes effect before its consumers run. Values are kept in a store until their last
/// consumer has run.
///
///     Stream stream(module, store, executors, options);
///     stream.start(samples);
///     for (const fx::Node& node : module.graph().nodes()) {
///       stream.run_node(node);
///       stream.drop_unused_after(node);
///     }
class Stream {
 public:
  /// All must outlive this object.
  Stream(fx::GraphModule& module, ValueStore& store, const fx::ExecutorFactory& executors,
         const fx::ExecutorOptions& options = {});

  /// @param samples  ids of the inputs of each sample in the store.
  /// @param keep  leave them in the store when they are not needed anymore.
  void start(std::vector<std::vector<int64_t>> samples, bool keep = false);
  size_t samples() const { return samples_.size(); }

  /// False for the output node, and for nodes that depend on an unknown operator.
  bool computes(const fx::Node& node) const;
  void run_node(const fx::Node& node);
  /// Whether it does not depend on the samples. It is computed once.
  bool is_constant(const fx::Node& node) const { return constants_.contains(&node); }
  /// Replaces the value of a constant node.
  void set_constant(const fx::Node& node, fx::Value value) {
    constants_.insert_or_assign(&node, std::move(value));
  }
  fx::Value value_of(const fx::Node& node, size_t sample) const;
  void drop_unused_after(const fx::Node& node);

 private:
  void take_input(const fx::Node& node);
  int64_t put(const fx::Node& node, fx::Value value);
  fx::Value result_of(const fx::Node& node, size_t sample, fx::Executor& executor) const;

  fx::GraphModule& module_;
  ValueStore& store_;
  std::vector<std::unique_ptr<fx::Executor>> executors_;  // one per thread
  fx::MemoryGroups memory_;
  std::unordered_map<const fx::Node*, const fx::Node*> uncomputable_;
  std::unordered_map<const fx::Node*, size_t> inputs_;  // index of each placeholder
  std::unordered_map<const fx::Node*, const fx::Node*> last_user_;
  std::vector<std::vector<int64_t>> samples_;
  bool keep_ = false;
  std::unordered_map<const fx::Node*, fx::Value> constants_;
  std::unordered_map<const fx::Node*, std::vector<int64_t>> ids_;  // in the store, of each sample
};

}  // namespace sparsebit::quant
