#include "sparsebit/passes/rewriter.h"

#include "sparsebit/core/error_context.h"
#include "sparsebit/fx/dead_code.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/passes/pass.h"

#include <algorithm>
#include <set>

namespace sparsebit::passes {

using fx::Node;

Rewriter::Rewriter(fx::GraphModule& module) : module_(module) {
  fx::eliminate_dead_code(module_);  // unused nodes would count as users
}

void Rewriter::begin_sweep() {
  changes_before_sweep_ = changes_.size();
  replaced_.clear();
  dead_users_.clear();
  touched_.clear();
  stands_for_.clear();
  if (index_) return;  // nothing has changed since the last sweep
  index_.emplace(module_);
  memory_.emplace(module_);
  known_ = NodeSet(index_->nodes().begin(), index_->nodes().end());
}

void Rewriter::end_sweep() {
  if (index_->is_current() && changes_.size() == changes_before_sweep_) return;
  index_.reset();
  memory_.reset();
  graph().sort_topologically();
  fx::eliminate_dead_code(module_);
  fx::drop_unused_state(module_);
  fx::lint(graph(), module_);
}

// --- memory ------------------------------------------------------------------------------------

bool Rewriter::is_written(const Node& node) const {
  return is_written_between(node, 0, index_->nodes().size());
}

/// Whether the memory of this value is written between two positions of the graph.
bool Rewriter::is_written_between(const Node& value, size_t from, size_t to) const {
  const auto replaced = stands_for_.find(&value);
  if (replaced != stands_for_.end()) {
    for (const Node* old : replaced->second) {
      if (is_written_between(*old, from, to)) return true;
    }
  }
  if (!index_->contains(value)) return false;
  const std::vector<const Node*>& writers = memory_->writers_of(memory_->group_of(value));
  return std::any_of(writers.begin(), writers.end(), [&](const Node* writer) {
    return index_->position(*writer) > from && index_->position(*writer) < to;
  });
}

/// Whether a node's value has memory of its own.
bool Rewriter::is_fresh(const Node& node) const {
  const fx::Spelling* spelling = fx::find_spelling(node, module_);
  return spelling && !spelling->op->view && !fx::mutates_input(node, module_);
}

/// Sharing memory matters only where it is written. Then both values must have memory of their own,
/// and the new value must have no other reader.
bool Rewriter::may_replace(const Node& node, const fx::Value& value) const {
  if (!is_written(node) && !(value.is_node() && is_written(value.node()))) return true;
  if (!value.is_node() || !is_fresh(node) || !is_fresh(value.node())) return false;
  const std::list<Node*>& users = value.node().users();
  return std::all_of(users.begin(), users.end(), [&](const Node* user) { return user == &node; });
}

// --- rewriting ---------------------------------------------------------------------------------

namespace {

std::string names_of(const std::vector<Node*>& nodes) {
  std::string text;
  for (const Node* node : nodes) text += (text.empty() ? "'" : ", '") + node->name() + "'";
  return text;
}

/// Orders nodes as the graph does.
struct EarlierIn {
  const GraphIndex* index;
  bool operator()(const Node* a, const Node* b) const {
    return index->position(*a) < index->position(*b);
  }
};

}  // namespace

void Rewriter::apply(const Rule& rule) {
  std::vector<Match> matches = find_matches(rule.pattern, *index_);
  while (!matches.empty()) {
    std::set<Node*, EarlierIn> grown{EarlierIn{&*index_}};  // replacements
    for (const Match& match : matches) {
      if (!can_rewrite(rule, match)) continue;
      const fx::Graph::InsertPoint here = graph().inserting_before(match.last(*index_));
      part_of_next_.clear();
      const Replacements replacements =
          with_context([&] { return rule.rewrite(match, *this); },
                       [&] { return "at " + names_of(match.operator_nodes()); });
      if (replacements.empty() || !replace(replacements, match.operator_nodes())) continue;
      for (const auto& [node, value] : replacements) {
        if (value.is_node() && index_->contains(value.node())) grown.insert(&value.node());
      }
    }
    matches = matches_around(rule, {grown.begin(), grown.end()});
  }
}

/// New matches caused by changes at these nodes. Without them, a layer with a chain of nodes to
/// fold would need one sweep per node.
std::vector<Match> Rewriter::matches_around(const Rule& rule, const std::vector<Node*>& nodes) {
  for (Node* node : nodes) {
    if (touched_.erase(node) > 0) index_->refresh(*node);
    for (Node* user : node->users()) {
      if (touched_.erase(user) > 0) index_->refresh(*user);
    }
  }
  return find_matches(rule.pattern, *index_, nodes);
}

/// Whether the match is still valid after the changes of this sweep, and new nodes, which are
/// inserted before the last node of the match, can read the inputs of its nodes.
bool Rewriter::can_rewrite(const Rule& rule, const Match& match) {
  for (Node* node : match.nodes()) {
    if (replaced_.contains(node) || index_->is_dead(*node)) return false;
    if (touched_.erase(node) > 0) index_->refresh(*node);
  }
  const size_t last = index_->position(match.last(*index_));
  for (const Node* node : match.operator_nodes()) {
    const size_t here = index_->position(*node);
    const auto changes_later = [&](const Node* value) {
      return is_written_between(*value, here, last);
    };
    if (memory_->is_writer(*node) || changes_later(node)) return false;
    if (std::any_of(node->inputs().begin(), node->inputs().end(), changes_later)) return false;
  }
  return still_matches(rule.pattern, match, *index_);
}

std::vector<Node*> Rewriter::new_nodes_in(const Replacements& replacements) const {
  std::vector<Node*> found;
  NodeSet seen;
  const auto visit = [&](Node& node) {
    if (!known_.contains(&node) && seen.insert(&node).second) found.push_back(&node);
  };
  for (const auto& [node, value] : replacements) value.for_each_node(visit);
  for (size_t i = 0; i < found.size(); ++i) {  // grows while it is walked
    for (Node* input : found[i]->inputs()) visit(*input);
  }
  std::reverse(found.begin(), found.end());  // roughly producers first
  return found;
}

namespace {

/// Adds a node to the change, unless it is listed already.
void note_after(Change& change, const Node& node) {
  const auto& names = change.after;
  if (std::find(names.begin(), names.end(), node.name()) == names.end())
    change.after.push_back(node.name());
}

}  // namespace

bool Rewriter::replace(const Replacements& replacements, std::vector<Node*> because_of) {
  for (const auto& [node, value] : replacements) {
    if (!may_replace(*node, value)) return false;
  }
  const std::vector<Node*> created = new_nodes_in(replacements);
  const NodeSet new_nodes(created.begin(), created.end());
  Change change{.pass = pass_};
  if (because_of.empty()) {
    for (const auto& [node, value] : replacements) because_of.push_back(node);
  }
  for (const Node* node : because_of) change.before.push_back(node->name());
  for (Node* node : created) {
    node->inherit_origin(*replacements[0].first);
    change.after.push_back(node->name());
  }
  for (const auto& [node, value] : replacements) {
    redirect(*node, value, new_nodes);
    replaced_.insert(node);
    if (!value.is_node()) {
      change.after.push_back(to_string(value));
      continue;
    }
    Node& now = value.node();
    if (!new_nodes.contains(&now)) note_after(change, now);
    stands_for_[&now].push_back(node);
    if (!now.tensor_info()) now.set_tensor_info(node->tensor_info());
  }
  for (const Node* node : std::exchange(part_of_next_, {})) {
    if (!replaced_.contains(node)) note_after(change, *node);
  }
  for (const auto& [node, value] : replacements) {
    bury(*node);
    value.for_each_node([&](const Node& now) { revive(now); });
  }
  for (const Node* node : created) {
    for (const Node* input : node->inputs()) revive(*input);
  }
  known_.insert(created.begin(), created.end());
  changes_.push_back(std::move(change));
  return true;
}

void Rewriter::redirect(Node& node, const fx::Value& value, const NodeSet& new_nodes) {
  const std::vector<Node*> users(node.users().begin(), node.users().end());
  for (Node* user : users) {
    if (new_nodes.contains(user)) continue;
    user->replace_input_with(node, value);
    touched_.insert(user);
  }
}

/// Marks a node as dead if it has no live users, and then its inputs in the same way.
void Rewriter::bury(const Node& node) {
  std::vector<const Node*> maybe_dead = {&node};
  while (!maybe_dead.empty()) {
    const Node& next = *maybe_dead.back();
    maybe_dead.pop_back();
    if (dead_users_[&next] < next.users().size() || !index_->set_dead(next)) continue;
    for (const Node* input : next.inputs()) {
      ++dead_users_[input];
      maybe_dead.push_back(input);
    }
  }
}

/// Undoes bury() for a node that is read again, and for its inputs.
void Rewriter::revive(const Node& node) {
  std::vector<const Node*> read = {&node};
  while (!read.empty()) {
    const Node& next = *read.back();
    read.pop_back();
    if (!index_->set_alive(next)) continue;
    for (const Node* input : next.inputs()) {
      --dead_users_[input];
      read.push_back(input);
    }
  }
}

void Rewriter::touch(Node& node) {
  touched_.insert(&node);
  part_of_next_.push_back(&node);
}

void Rewriter::note_changed(Node& node) {
  touched_.insert(&node);
  std::erase(part_of_next_, &node);
  changes_.push_back({pass_, {node.name()}, {node.name()}});
}

std::string Rewriter::free_path(const std::string& wish) const {
  const auto taken = [&](const std::string& path) {
    return module_.find_module(path) || module_.find_tensor(path) || module_.find_attribute(path);
  };
  if (!taken(wish)) return wish;
  for (size_t& number = last_number_[wish];;) {
    const std::string path = wish + "_" + std::to_string(++number);
    if (!taken(path)) return path;
  }
}

}  // namespace sparsebit::passes
