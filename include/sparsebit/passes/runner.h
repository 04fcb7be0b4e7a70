#pragma once

#include "sparsebit/passes/pass.h"

#include <map>
#include <string>
#include <vector>

namespace sparsebit::passes {

/// Which passes run.
struct Schedule {
  std::vector<Stage> stages = {Stage::Simplify, Stage::Fuse};
  /// Switches passes off and on by name, in capital or small letters; what is not named is on.
  std::map<std::string, bool> switches = {};
  /// Further passes, each at the end of its stage: fusions that only this model needs.
  std::vector<Pass> extra = {};
};

/// What the passes did, in order.
struct PassReport {
  std::vector<Change> changes;
  /// Those that led to the nodes of these names or did away with them, oldest first: what they
  /// replaced, what that replaced, and so on.
  std::vector<Change> history_of(const std::vector<std::string>& node_names) const;
};

/// Runs the passes of each stage one after the other, until none finds anything to do. After each
/// the graph is pruned, checked, and modules that are not called any more are dropped; inputs of
/// the model stay. Throws InvalidArgument, naming the pass, for a switch that names none, for a
/// pass of the schedule's own whose stage does not run, and when a pass never settles. An error in
/// a pass names the nodes it was at; the model is then what the changes before it made of it.
PassReport run_passes(fx::GraphModule& module, const Schedule& schedule = {});

/// As above for these passes, in this order.
PassReport run_selected(fx::GraphModule& module, const std::vector<std::string>& names);

}  // namespace sparsebit::passes
