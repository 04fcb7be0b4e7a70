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

/// One change made by a pass.
struct Change {
  std::string pass;
  std::vector<std::string> before = {};  ///< names of the replaced nodes
  std::vector<std::string> after = {};   ///< names of the new nodes, or texts of the new values
};

/// Nodes and the values that replace them. Empty: the graph stays unchanged.
using Replacements = std::vector<std::pair<fx::Node*, fx::Value>>;

/// The interface of rules and passes to the graph of a model. Passes work in sweeps: nodes are not
/// erased before the end of a sweep, so pointers to them stay valid until then. No gradients are
/// recorded while passes run.
///
/// Nodes that write in place take part in no match, and a value that is written in place is not
/// replaced by one that shares memory with others. The pass `out_of_place` runs first and removes
/// most in-place operators.
class Rewriter {
 public:
  fx::GraphModule& module() { return module_; }
  const fx::GraphModule& module() const { return module_; }
  fx::Graph& graph() { return module_.graph(); }
  /// The graph at the beginning of the current sweep.
  const GraphIndex& index() const { return *index_; }
  const fx::MemoryGroups& memory() const { return *memory_; }
  /// Whether the node was replaced in this sweep.
  bool is_replaced(const fx::Node& node) const { return replaced_.contains(&node); }

  /// Redirects the users of each node to its replacement value. New nodes among the values keep
  /// their inputs, and get the module path and shape of the replaced node. Returns false, without
  /// any change, when a node writes in place to memory that would become shared.
  /// @param because_of  the nodes that the change is about, if more than the replaced ones.
  bool replace(const Replacements& replacements, std::vector<fx::Node*> because_of = {});
  /// Whether replace() would succeed. For rules that change more than the graph.
  bool may_replace(const fx::Node& node, const fx::Value& value) const;
  /// Records that a node's own arguments or module changed, as part of the next replacement.
  void touch(fx::Node& node);
  /// Records such a change without a replacement.
  void note_changed(fx::Node& node);

  /// A path for a new module or tensor: `wish`, or `wish` with a number if it is taken.
  std::string free_path(const std::string& wish) const;

 private:
  friend class Runner;
  using NodeSet = std::unordered_set<const fx::Node*>;

  /// Removes unused nodes.
  explicit Rewriter(fx::GraphModule& module);
  /// Attributes the changes that follow to this pass.
  void begin_pass(std::string name) { pass_ = std::move(name); }
  void begin_sweep();
  /// Replaces all occurrences of a pattern that do not overlap, in order.
  void apply(const Rule& rule);
  /// Sorts, prunes and checks the graph, if it changed; removes modules and tensors without
  /// references.
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
  // Replacements of this sweep: a new node counts as written where the nodes it replaced were.
  std::unordered_map<const fx::Node*, std::vector<const fx::Node*>> stands_for_;
  mutable std::unordered_map<std::string, size_t> last_number_;  // of paths, by requested path
  NodeSet known_;     // nodes of the graph, without those of a change in progress
  NodeSet replaced_;  // in this sweep
  std::unordered_map<const fx::Node*, size_t> dead_users_;  // number of dead users of a node
  NodeSet touched_;                      // nodes whose arguments or module changed in this sweep
  std::vector<fx::Node*> part_of_next_;  // touched as part of the next replacement
  std::vector<Change> changes_;
  size_t changes_before_sweep_ = 0;
};

}  // namespace sparsebit::passes
