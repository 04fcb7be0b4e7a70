#pragma once

#include "sparsebit/fx/memory_groups.h"
#include "sparsebit/passes/matcher.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sparsebit::passes {

struct Rule;

/// What a pass did in one place.
struct Change {
  std::string pass;
  std::vector<std::string> before = {};  ///< names of the nodes that were there
  std::vector<std::string> after = {};   ///< names of the nodes, or texts of the values, there now
};

/// Which value takes the place of which node. None: the graph stays as it is.
using Replacements = std::vector<std::pair<fx::Node*, fx::Value>>;

/// The graph of a model while passes work on it, one sweep after the other: what rules and passes
/// see. Nodes are not erased before the end of a sweep, so pointers to them stay valid until then.
/// No gradients are recorded meanwhile.
///
/// Nodes that write in place are part of no match, and a value that is written in place is not
/// replaced by one that shares memory with others: `out_of_place` runs first and leaves few.
class Rewriter {
 public:
  fx::GraphModule& module() { return module_; }
  const fx::GraphModule& module() const { return module_; }
  fx::Graph& graph() { return module_.graph(); }
  /// The graph as it was when the present sweep began.
  const GraphIndex& index() const { return *index_; }
  const fx::MemoryGroups& memory() const { return *memory_; }
  /// Whether it was replaced in this sweep.
  bool is_replaced(const fx::Node& node) const { return replaced_.contains(&node); }

  /// From now on users of each node read its value instead. New nodes that the values are made of
  /// go on reading what they read, and get the module path and shape of the node replaced.
  /// False, and nothing changes, when somebody writes in place to what would be shared then.
  /// @param because_of  the nodes that the change is about, if they are more than those replaced.
  bool replace(const Replacements& replacements, std::vector<fx::Node*> because_of = {});
  /// Whether replace() would do it. For rules that change more than the graph.
  bool may_replace(const fx::Node& node, const fx::Value& value) const;
  /// Tells that a node's own arguments or module changed, as part of the next replacement.
  void touch(fx::Node& node);
  /// Tells of such a change that is all there is.
  void note_changed(fx::Node& node);

  /// A path for a new module or tensor: `wish`, or with a number behind it where that is taken.
  std::string free_path(const std::string& wish) const;

 private:
  friend class Runner;
  using NodeSet = std::unordered_set<const fx::Node*>;

  /// Removes nodes that nobody needs.
  explicit Rewriter(fx::GraphModule& module);
  /// What is noted from now on is this pass's.
  void begin_pass(std::string name) { pass_ = std::move(name); }
  void begin_sweep();
  /// Replaces all occurrences of a pattern that do not overlap, in order.
  void apply(const Rule& rule);
  /// Sorts, prunes and checks the graph, if it changed; drops modules and tensors that it does not
  /// refer to any more.
  void end_sweep();

  std::vector<Match> matches_around(const Rule& rule, const std::vector<fx::Node*>& nodes);
  bool can_rewrite(const Rule& rule, const Match& match);
  bool is_written_between(const fx::Node& value, size_t from, size_t to) const;
  bool is_written(const fx::Node& node) const;
  bool is_fresh(const fx::Node& node) const;
  std::vector<fx::Node*> new_nodes_in(const Replacements& replacements) const;
  void redirect(fx::Node& node, const fx::Value& value, const NodeSet& new_nodes);
  void bury(const fx::Node& node);
  void revive(const fx::Node& node);

  fx::GraphModule& module_;
  std::string pass_;
  std::optional<GraphIndex> index_;
  std::optional<fx::MemoryGroups> memory_;
  // Nodes that took the place of others in this sweep, and are written where those were.
  std::unordered_map<const fx::Node*, std::vector<const fx::Node*>> stands_for_;
  mutable std::unordered_map<std::string, size_t> last_number_;  // of paths, by what was wished
  NodeSet known_;     // nodes that are part of the graph, not of a change that is being made
  NodeSet replaced_;  // in this sweep
  std::unordered_map<const fx::Node*, size_t> dead_users_;  // how many of a node's users are dead
  NodeSet touched_;                      // whose arguments or module changed in this sweep
  std::vector<fx::Node*> part_of_next_;  // touched for a replacement that is to come
  std::vector<Change> changes_;
  size_t changes_before_sweep_ = 0;
};

}  // namespace sparsebit::passes
