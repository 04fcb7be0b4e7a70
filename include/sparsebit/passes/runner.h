#pragma once

#include "sparsebit/passes/pass.h"

#include <map>
#include <string>
#include <vector>

namespace sparsebit::passes {

/// Which passes run.
struct Schedule {
  std::vector<Stage> stages = {Stage::Simplify, Stage::Fuse};
  /// Switches passes off and on by name, ignoring case; all others are on.
  std::map<std::string, bool> switches = {};
  /// Further passes, each at the end of its stage: fusions that only this model needs.
  std::vector<Pass> extra = {};
};

/// What the passes did, in order.
struct PassReport {
  std::vector<Change> changes;
  /// The changes that created or removed the nodes of these names, directly or through nodes that
  /// were replaced later; oldest first.
  std::vector<Change> history_of(const std::vector<std::string>& node_names) const;
};

/// Runs the passes of each stage one after the other, until none changes anything. After each pass
/// the graph is pruned and checked, and modules without calls are removed; inputs of the model
/// stay. Throws InvalidArgument, naming the pass, for a switch of an unknown pass, for an extra
/// pass whose stage does not run, and when a pass does not converge. An error in a pass names the
/// matched nodes; the model then keeps the changes made before the error.
PassReport run_passes(fx::GraphModule& module, const Schedule& schedule = {});

/// As above for these passes, in this order.
PassReport run_selected(fx::GraphModule& module, const std::vector<std::string>& names);

}  // namespace sparsebit::passes
