#include "sparsebit/passes/runner.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/letter_case.h"
#include "sparsebit/core/near_match.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

namespace sparsebit::passes {
namespace {

/// Limit of sweeps that do not make the graph smaller. Overlapping matches need further sweeps.
constexpr int kMostSweeps = 64;
/// Limit of rounds over all passes. A pass may match again after a later one; with more rounds than
/// this, two passes undo each other.
constexpr int kMostRounds = 16;

using PassList = std::vector<const Pass*>;

/// The passes of a stage that are switched on, the schedule's own last.
PassList passes_of(Stage stage, const Schedule& schedule, const std::set<std::string>& off) {
  PassList list;
  for (const std::string& name : passes().names(stage)) {
    if (!off.contains(lower_case(name))) list.push_back(&passes().get(name));
  }
  for (const Pass& pass : schedule.extra) {
    if (pass.stage == stage && !off.contains(lower_case(pass.name))) list.push_back(&pass);
  }
  return list;
}

/// Names of passes that are switched off, in lower case.
std::set<std::string> switched_off(const Schedule& schedule) {
  std::vector<std::string> known = passes().names();
  for (const Pass& pass : schedule.extra) {
    check_pass(pass);
    SPARSEBIT_CHECK(std::find(known.begin(), known.end(), pass.name) == known.end(),
                    InvalidArgument, "there are two passes '", pass.name, "'");
    SPARSEBIT_CHECK(std::find(schedule.stages.begin(), schedule.stages.end(), pass.stage) !=
                        schedule.stages.end(),
                    InvalidArgument, "pass '", pass.name,
                    "' would never run: its stage is not among the schedule's stages");
    known.push_back(pass.name);
  }
  std::transform(known.begin(), known.end(), known.begin(), lower_case);
  std::set<std::string> off, seen;
  for (const auto& [name, on] : schedule.switches) {
    const std::string lower = lower_case(name);
    SPARSEBIT_CHECK(std::find(known.begin(), known.end(), lower) != known.end(), InvalidArgument,
                    "unknown pass '", name, "'", did_you_mean(lower, known));
    SPARSEBIT_CHECK(seen.insert(lower).second, InvalidArgument, "pass '", lower,
                    "' is switched twice, in upper and in lower case");
    if (!on) off.insert(lower);
  }
  return off;
}

}  // namespace

std::vector<Change> PassReport::history_of(const std::vector<std::string>& node_names) const {
  std::vector<Change> history;
  std::set<std::string> names(node_names.begin(), node_names.end());
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    const auto is_asked_for = [&](const auto& name) { return names.contains(name); };
    const bool led_here = std::any_of(change->after.begin(), change->after.end(), is_asked_for) ||
                          std::any_of(change->before.begin(), change->before.end(), is_asked_for);
    if (!led_here) continue;
    names.insert(change->before.begin(), change->before.end());
    history.push_back(*change);
  }
  std::reverse(history.begin(), history.end());
  return history;
}

/// Runs passes on one model.
class Runner {
 public:
  explicit Runner(fx::GraphModule& module) : rewriter_(module) {}

  /// Repeats the passes until none of them changes anything.
  void run_until_stable(const PassList& list) {
    for (int round = 0; round < kMostRounds; ++round) {
      const size_t before = changes().size();
      for (const Pass* pass : list) {
        with_context([&] { run_pass(*pass); }, [&] { return "in pass '" + pass->name + "'"; });
      }
      if (changes().size() == before) return;
    }
    throw Error(
        ErrorKind::InvalidArgument,
        c10::str("the passes do not converge: after ", kMostRounds, " rounds '",
                 changes().back().pass, "' still changes '", changes().back().before.front(), "'"));
  }

  const std::vector<Change>& changes() const { return rewriter_.changes_; }

 private:
  void run_pass(const Pass& pass) {
    rewriter_.begin_pass(pass.name);
    size_t smallest = rewriter_.graph().size();
    for (int idle = 0; idle < kMostSweeps; ++idle) {
      const size_t before = changes().size();
      rewriter_.begin_sweep();
      for (const Rule& rule : pass.rules) rewriter_.apply(rule);
      if (pass.run) pass.run(rewriter_);
      rewriter_.end_sweep();
      if (changes().size() == before) return;
      if (rewriter_.graph().size() < smallest) idle = 0;
      smallest = std::min(smallest, rewriter_.graph().size());
    }
    throw Error(ErrorKind::InvalidArgument,
                c10::str("the pass does not converge: after ", kMostSweeps,
                         " sweeps it still changes '", changes().back().before.front(), "'"));
  }

  const at::NoGradGuard no_gradients_;
  Rewriter rewriter_;
};

PassReport run_passes(fx::GraphModule& module, const Schedule& schedule) {
  const std::set<std::string> off = switched_off(schedule);
  Runner runner(module);
  for (const Stage stage : schedule.stages)
    runner.run_until_stable(passes_of(stage, schedule, off));
  return {runner.changes()};
}

PassReport run_selected(fx::GraphModule& module, const std::vector<std::string>& names) {
  PassList list;
  for (const std::string& name : names) list.push_back(&passes().get(name));
  Runner runner(module);
  runner.run_until_stable(list);
  return {runner.changes()};
}

}  // namespace sparsebit::passes
