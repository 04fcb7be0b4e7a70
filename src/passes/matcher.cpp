#include "sparsebit/passes/matcher.h"

#include "sparsebit/core/error.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace sparsebit::passes {
namespace {

using fx::Node;

void collect_nodes(const fx::Value& value, std::vector<Node*>& nodes) {
  value.for_each_node([&](Node& node) { nodes.push_back(&node); });
}

NodeView read(Node& node, const fx::GraphModule& module) {
  NodeView view{.node = &node};
  try {
    view.call = fx::resolve(node, module);
  } catch (const Error&) {
    // A call with invalid arguments matches nothing; running it reports the error.
  }
  if (view.call) {
    for (const fx::Value& value : view.call->args.values()) collect_nodes(value, view.inputs);
  } else {
    for (const fx::Value& value : node.args()) collect_nodes(value, view.inputs);
    for (const auto& [name, value] : node.kwargs()) collect_nodes(value, view.inputs);
  }
  return view;
}

}  // namespace

GraphIndex::GraphIndex(fx::GraphModule& module)
    : module_(module), version_(module.graph().version()), nodes_(module.graph().node_list()) {
  for (Node* node : nodes_) {
    const NodeView& view =
        entries_.emplace(node, Entry{read(*node, module), entries_.size()}).first->second.view;
    if (view.call) by_operator_[view.call->op->name].push_back(node);
    if (node->op() == fx::Opcode::CallModule) ++calls_[node->target()];
    const bool is_attribute = node->op() == fx::Opcode::GetAttr;
    const at::Tensor* tensor = is_attribute ? module.find_tensor(node->target()) : nullptr;
    if (tensor) readers_[tensor->unsafeGetTensorImpl()] += node->users().size();
    if (is_attribute) read_.insert(fx::split_path(node->target()).first);
  }
  std::unordered_set<const fx::Module*> seen, counted;
  for (const auto& [path, child] : module.named_modules(fx::Duplicates::Keep)) {
    if (!seen.insert(child).second) shared_.insert(child);
    const bool is_used = child->is_operator() || is_inside_called(path);
    if (is_used && counted.insert(child).second) count_readers(*child);
  }
}

bool GraphIndex::is_inside_called(std::string path) const {
  for (; !path.empty(); path = fx::split_path(path).first) {
    if (calls_.contains(path)) return true;
  }
  return false;
}

void GraphIndex::count_readers(const fx::Module& layer) {
  for (const fx::NamedTensors* tensors : {&layer.own_parameters(), &layer.own_buffers()}) {
    for (const auto& item : *tensors) {
      if (item.value().defined()) ++readers_[item.value().unsafeGetTensorImpl()];
    }
  }
}

size_t GraphIndex::readers_of(const at::Tensor& tensor) const {
  const auto it = readers_.find(tensor.unsafeGetTensorImpl());
  return it == readers_.end() ? 0 : it->second;
}

size_t GraphIndex::calls_of(const std::string& module_path) const {
  const auto it = calls_.find(module_path);
  return it == calls_.end() ? 0 : it->second;
}

const std::vector<Node*>& GraphIndex::nodes_of(const std::string& operator_name) const {
  static const std::vector<Node*> none;
  const auto it = by_operator_.find(operator_name);
  return it == by_operator_.end() ? none : it->second;
}

void GraphIndex::refresh(Node& node) {
  const auto it = entries_.find(&node);
  if (it != entries_.end()) it->second.view = read(node, module_);
}

Node& Match::last(const GraphIndex& index) const {
  Node* last = entries_.front().node->node;
  for (const Entry& entry : entries_) {
    if (index.position(*entry.node->node) > index.position(*last)) last = entry.node->node;
  }
  return *last;
}

/// Backtracking search: binds pattern nodes one after the other, each a neighbour of a bound one.
class Matcher {
 public:
  Matcher(const Pattern& pattern, const GraphIndex& index)
      : pattern_(pattern),
        index_(index),
        inputs_of_(pattern.nodes().size()),
        all_(pattern.nodes().size()),
        bound_(pattern.nodes().size(), nullptr) {
    std::iota(all_.begin(), all_.end(), size_t{0});
    for (size_t i = 0; i < pattern.nodes().size(); ++i) {
      for (const std::string& name : pattern.nodes()[i].inputs)
        inputs_of_[i].push_back(name == kAnything ? kNone : pattern.find(name));
    }
    for (const JointCheck& check : pattern.checks()) {
      std::vector<size_t>& nodes = joint_nodes_.emplace_back();
      for (const std::string& name : check.names) nodes.push_back(pattern.find(name));
    }
  }

  std::vector<Match> find_all() {
    const size_t rarest = choose_anchor();
    choose_order(rarest);
    for (const Node* node : candidates_of(pattern_.nodes()[rarest]))
      try_to_bind(0, index_.view(*node));
    return sorted();
  }

  std::vector<Match> find_around(const std::vector<Node*>& nodes) {
    for (size_t i = 0; i < pattern_.nodes().size(); ++i) {
      choose_order(i);
      for (const Node* node : nodes) try_to_bind(0, index_.view(*node));
    }
    return sorted();
  }

  bool fits(const Match& match) {
    for (size_t i = 0; i < bound_.size(); ++i) bound_[i] = match.entries_[i].node;
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (!is_right_kind(i, *bound_[i]) || !inputs_fit(i) || !joint_checks_pass(i)) return false;
    }
    return users_fit();
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  struct Found {
    std::vector<size_t> positions;  // of the last pattern node first
    Match match;
  };

  /// The matches in order, each set of nodes once.
  std::vector<Match> sorted() {
    std::sort(found_.begin(), found_.end(),
              [](const Found& a, const Found& b) { return a.positions < b.positions; });
    std::vector<Match> matches;
    std::set<std::vector<size_t>> seen;  // sets of nodes
    for (Found& found : found_) {
      std::vector<size_t> key = found.positions;
      std::sort(key.begin(), key.end());
      if (seen.insert(std::move(key)).second) matches.push_back(std::move(found.match));
    }
    return matches;
  }

  /// The pattern node with the fewest candidates in the graph.
  size_t choose_anchor() const {
    size_t anchor = 0, fewest = ~size_t{0};
    for (size_t i = 0; i < pattern_.nodes().size(); ++i) {
      const size_t count = count_candidates(pattern_.nodes()[i]);
      if (count < fewest) anchor = i;
      fewest = std::min(fewest, count);
    }
    return anchor;
  }

  /// Breadth-first from the anchor.
  void choose_order(size_t anchor) {
    order_ = {anchor};
    while (order_.size() < pattern_.nodes().size()) {
      for (size_t i = 0; i < pattern_.nodes().size(); ++i) {
        const bool placed = std::find(order_.begin(), order_.end(), i) != order_.end();
        if (!placed && std::any_of(order_.begin(), order_.end(),
                                   [&](size_t j) { return uses(i, j) || uses(j, i); })) {
          order_.push_back(i);
        }
      }
    }
  }

  size_t count_candidates(const PatternNode& node) const {
    if (node.operators.empty()) return index_.nodes().size();
    size_t count = 0;
    for (const std::string& name : node.operators) count += index_.nodes_of(name).size();
    return count;
  }

  std::vector<Node*> candidates_of(const PatternNode& node) const {
    if (node.operators.empty()) return index_.nodes();
    std::vector<Node*> candidates;
    for (const std::string& name : node.operators) {
      const std::vector<Node*>& some = index_.nodes_of(name);
      candidates.insert(candidates.end(), some.begin(), some.end());
    }
    return candidates;
  }

  bool uses(size_t user, size_t producer) const {
    const std::vector<size_t>& inputs = inputs_of_[user];
    return std::find(inputs.begin(), inputs.end(), producer) != inputs.end();
  }

  void extend(size_t depth) {
    if (depth == order_.size()) {
      if (users_fit()) record();
      return;
    }
    for (const Node* node : neighbours(order_[depth])) try_to_bind(depth, index_.view(*node));
  }

  void try_to_bind(size_t depth, const NodeView& view) {
    const size_t i = order_[depth];
    const bool taken = std::find(bound_.begin(), bound_.end(), &view) != bound_.end();
    if (taken || !is_right_kind(i, view)) return;
    bound_[i] = &view;
    if (all_inputs_fit(i) && joint_checks_pass(i)) extend(depth + 1);
    bound_[i] = nullptr;
  }

  /// Candidates for pattern node i: inputs or users of a bound node. Nodes created since the graph
  /// was read are ignored until it is read again.
  std::vector<const Node*> neighbours(size_t i) const {
    std::vector<const Node*> found;
    const auto add = [&](const auto& nodes) {
      for (const Node* node : nodes) {
        if (index_.contains(*node) && !index_.is_dead(*node)) found.push_back(node);
      }
    };
    for (size_t j = 0; j < bound_.size(); ++j) {
      if (!bound_[j] || (!uses(j, i) && !uses(i, j))) continue;
      if (uses(j, i)) {
        add(bound_[j]->inputs);
      } else {
        add(bound_[j]->node->users());
      }
      break;
    }
    return found;
  }

  bool is_right_kind(size_t i, const NodeView& view) const {
    const PatternNode& wanted = pattern_.nodes()[i];
    if (wanted.operators.empty()) return !wanted.check || wanted.check(view);
    const bool right = std::any_of(wanted.operators.begin(), wanted.operators.end(),
                                   [&](const std::string& name) { return view.is(name); });
    return right && (!wanted.check || wanted.check(view));
  }

  /// Checks the inputs of node i, and of the bound nodes that use it.
  bool all_inputs_fit(size_t i) const {
    if (!inputs_fit(i)) return false;
    for (size_t j = 0; j < bound_.size(); ++j) {
      if (bound_[j] && uses(j, i) && !inputs_fit(j)) return false;
    }
    return true;
  }

  /// An input that is not bound yet matches any node.
  bool can_be(size_t input, const Node* node) const {
    return input == kNone || !bound_[input] || bound_[input]->node == node;
  }

  bool inputs_fit(size_t i) const {
    const std::vector<size_t>& wanted = inputs_of_[i];
    const std::vector<Node*>& found = bound_[i]->inputs;
    if (wanted.empty()) return true;
    const InputOrder order = pattern_.nodes()[i].order;
    if (wanted.size() > found.size()) return false;
    if (order != InputOrder::Subset && wanted.size() != found.size()) return false;
    if (order != InputOrder::Exact) return can_be_assigned(wanted, found);
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (!can_be(wanted[k], found[k])) return false;
    }
    return true;
  }

  /// Whether each wanted input gets a position of its own: a bipartite matching, found by
  /// augmenting paths.
  bool can_be_assigned(const std::vector<size_t>& wanted, const std::vector<Node*>& found) const {
    std::vector<size_t> taken_by(found.size(), kNone);
    for (size_t k = 0; k < wanted.size(); ++k) {
      std::vector<bool> tried(found.size(), false);
      if (!assign(k, wanted, found, taken_by, tried)) return false;
    }
    return true;
  }

  bool assign(size_t k, const std::vector<size_t>& wanted, const std::vector<Node*>& found,
              std::vector<size_t>& taken_by, std::vector<bool>& tried) const {
    for (size_t p = 0; p < found.size(); ++p) {
      if (tried[p] || !can_be(wanted[k], found[p])) continue;
      tried[p] = true;
      if (taken_by[p] == kNone || assign(taken_by[p], wanted, found, taken_by, tried)) {
        taken_by[p] = k;
        return true;
      }
    }
    return false;
  }

  /// Checks the conditions for which node i was the last missing node.
  bool joint_checks_pass(size_t i) const {
    for (size_t c = 0; c < joint_nodes_.size(); ++c) {
      const std::vector<size_t>& nodes = joint_nodes_[c];
      const bool concerned = std::find(nodes.begin(), nodes.end(), i) != nodes.end();
      const bool complete =
          std::all_of(nodes.begin(), nodes.end(), [&](size_t j) { return bound_[j] != nullptr; });
      if (concerned && complete && !pattern_.checks()[c].check(as_match(nodes))) return false;
    }
    return true;
  }

  bool users_fit() const {
    std::set<const Node*> inside;
    for (const NodeView* view : bound_) inside.insert(view->node);
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (pattern_.nodes()[i].users == Users::Free) continue;
      const std::list<Node*>& users = bound_[i]->node->users();
      if (!std::all_of(users.begin(), users.end(), [&](const Node* user) {
            return inside.contains(user) || index_.is_dead(*user);
          })) {
        return false;
      }
    }
    return true;
  }

  Match as_match(const std::vector<size_t>& pattern_nodes) const {
    Match match;
    for (const size_t i : pattern_nodes) {
      const PatternNode& node = pattern_.nodes()[i];
      match.entries_.push_back({node.name, bound_[i], !node.operators.empty()});
    }
    return match;
  }

  void record() {
    std::vector<size_t> positions;
    for (auto it = bound_.rbegin(); it != bound_.rend(); ++it)
      positions.push_back(index_.position(*(*it)->node));
    found_.push_back({std::move(positions), as_match(all_)});
  }

  const Pattern& pattern_;
  const GraphIndex& index_;
  std::vector<std::vector<size_t>> inputs_of_;    // by pattern node
  std::vector<std::vector<size_t>> joint_nodes_;  // by joint check
  std::vector<size_t> all_;                       // pattern nodes
  std::vector<size_t> order_;                     // in which nodes are bound
  std::vector<const NodeView*> bound_;            // by pattern node
  std::vector<Found> found_;
};

std::vector<Match> find_matches(const Pattern& pattern, const GraphIndex& index) {
  return Matcher(pattern, index).find_all();
}

std::vector<Match> find_matches(const Pattern& pattern, const GraphIndex& index,
                                const std::vector<Node*>& around) {
  return around.empty() ? std::vector<Match>() : Matcher(pattern, index).find_around(around);
}

bool still_matches(const Pattern& pattern, const Match& match, const GraphIndex& index) {
  return Matcher(pattern, index).fits(match);
}

}  // namespace sparsebit::passes
