#pragma once

#include "export/shape_facts.h"

namespace sparsebit::exports {

/// Shapes and aliases recorded in one run of a graph.
struct TrialRun {
  std::unordered_map<const fx::Node*, Fact> facts;
  std::unordered_map<const fx::Node*, std::vector<const fx::Node*>> aliases;
  bool sizes_depend_on_data = false;
};

/// Runs the graph in eval mode without changing the model. For a node without a kernel, the shape
/// of its TensorInfo is used, with `sizes` for its symbols; without TensorInfo its shape stays
/// unknown.
///
/// @param other_than  an earlier run with the same inputs: data-dependent sizes are made different
///     from those of that run. A node that fails with them gets its shape from that run.
TrialRun run_trial(const fx::GraphModule& module, std::vector<fx::Value> inputs,
                   const std::map<std::string, int64_t>& sizes,
                   const TrialRun* other_than = nullptr);

}  // namespace sparsebit::exports
