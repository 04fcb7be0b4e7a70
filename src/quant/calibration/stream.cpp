#include "quant/calibration/stream.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/parallel.h"
#include "sparsebit/fx/computable.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <tuple>

namespace sparsebit::quant {

using fx::Node;

Stream::Stream(fx::GraphModule& module, ValueStore& store, const fx::ExecutorFactory& executors,
               const fx::ExecutorOptions& options)
    : module_(module),
      store_(store),
      memory_(module),
      uncomputable_(fx::uncomputable_nodes(module)) {
  for (int i = 0; i < std::max(1, at::get_num_threads()); ++i)
    executors_.push_back(executors(module, options));
  for (const Node& node : module.graph().nodes()) {
    if (node.op() == fx::Opcode::Placeholder) inputs_.emplace(&node, inputs_.size());
    last_user_[&node] = &node;
    for (const Node* input : node.inputs()) last_user_[input] = &node;
  }
}

void Stream::start(std::vector<std::vector<int64_t>> samples, bool keep) {
  for (const auto& sample : samples)
    SPARSEBIT_CHECK(sample.size() == samples.front().size(), InvalidArgument,
                    "samples with different numbers of inputs, ", samples.front().size(), " and ",
                    sample.size());
  samples_ = std::move(samples);
  keep_ = keep;
  constants_.clear();
  ids_.clear();
}

bool Stream::computes(const Node& node) const {
  return node.op() != fx::Opcode::Output && !uncomputable_.contains(&node);
}

/// An input that is not given has a default, or running the node throws.
void Stream::take_input(const Node& node) {
  const size_t i = inputs_.at(&node);
  const bool copies = memory_.is_written(node);
  for (const std::vector<int64_t>& sample : samples_) {
    if (!copies) {
      ids_[&node].push_back(sample[i]);
      continue;
    }
    const fx::Value value = store_.get(sample[i]);
    ids_[&node].push_back(
        put(node, keep_ && value.is_tensor() ? fx::Value(value.tensor().clone()) : value));
    if (!keep_) store_.drop(sample[i]);
  }
}

/// Values that are modified in place stay in memory, because all consumers must see the change.
int64_t Stream::put(const Node& node, fx::Value value) {
  return store_.put(std::move(value), memory_.is_written(node) ? ValueStore::Where::Memory
                                                               : ValueStore::Where::Anywhere);
}

void Stream::run_node(const Node& node) {
  const bool is_given =
      inputs_.contains(&node) && !samples_.empty() && inputs_.at(&node) < samples_.front().size();
  if (is_given) return take_input(node);
  const auto& inputs = node.inputs();
  const bool constant = std::all_of(inputs.begin(), inputs.end(),
                                    [&](const Node* input) { return is_constant(*input); });
  if (constant && !memory_.is_written(node)) {
    const OneThread same_bits;
    constants_.insert_or_assign(&node, result_of(node, 0, *executors_.front()));
    return;
  }
  std::vector<int64_t>& ids = ids_[&node];
  ids.resize(samples_.size());
  parallel_for(std::ssize(samples_), static_cast<int>(executors_.size()),
               [&](int64_t i, int worker) {
                 const auto sample = static_cast<size_t>(i);
                 ids[sample] = put(node, result_of(node, sample, *executors_[worker]));
               });
}

fx::Value Stream::result_of(const Node& node, size_t sample, fx::Executor& executor) const {
  const at::NoGradGuard no_gradients;  // of this thread
  fx::NodeCall call;
  std::tie(call.args, call.kwargs) =
      node.map_arguments([&](Node& input) { return value_of(input, sample); });
  return executor.run_node(node, call);
}

fx::Value Stream::value_of(const Node& node, size_t sample) const {
  const auto it = constants_.find(&node);
  return it != constants_.end() ? it->second : store_.get(ids_.at(&node)[sample]);
}

void Stream::drop_unused_after(const Node& node) {
  const auto drop = [&](const Node* value) {
    if (last_user_.at(value) != &node) return;
    const bool is_sample = inputs_.contains(value) && !memory_.is_written(*value);
    const auto ids = ids_.find(value);
    if (ids != ids_.end() && !(keep_ && is_sample)) {
      for (const int64_t id : ids->second) store_.drop(id);
    }
    ids_.erase(value);
    constants_.erase(value);
  };
  for (const Node* input : node.inputs()) drop(input);
  drop(&node);
}

}  // namespace sparsebit::quant
