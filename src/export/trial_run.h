#pragma once

#include "export/shape_facts.h"

namespace sparsebit::exports {

/// What one run of a graph showed.
struct TrialRun {
  std::unordered_map<const fx::Node*, Fact> facts;
  std::unordered_map<const fx::Node*, std::vector<const fx::Node*>> aliases;
  bool sizes_depend_on_data = false;
};

/// Runs the graph in eval mode without changing the model. A node nobody can run gives what its
/// TensorInfo promises, with `sizes` for its symbols; what cannot be known stays unknown.
///
/// @param other_than  an earlier run with the same inputs: sizes that depend on data are made
///     different from those it had. A node that cannot take them gives what it gave there.
TrialRun run_trial(const fx::GraphModule& module, std::vector<fx::Value> inputs,
                   const std::map<std::string, int64_t>& sizes,
                   const TrialRun* other_than = nullptr);

}  // namespace sparsebit::exports
