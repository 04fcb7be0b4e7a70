#include "sparsebit/passes/pattern.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/near_match.h"

#include <algorithm>
#include <numeric>

namespace sparsebit::passes {

const Match::Entry* Match::find(std::string_view name) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.name == name; });
  return it == entries_.end() ? nullptr : &*it;
}

const NodeView& Match::operator[](std::string_view name) const {
  const Entry* entry = find(name);
  SPARSEBIT_CHECK(entry, InvalidArgument, "there is no node '", name,
                  "' in the pattern, or the joint check does not name it");
  return *entry->node;
}

std::vector<fx::Node*> Match::nodes() const {
  std::vector<fx::Node*> nodes;
  for (const Entry& entry : entries_) nodes.push_back(entry.node->node);
  return nodes;
}

std::vector<fx::Node*> Match::operator_nodes() const {
  std::vector<fx::Node*> nodes;
  for (const Entry& entry : entries_) {
    if (entry.is_operator) nodes.push_back(entry.node->node);
  }
  return nodes;
}

Pattern::Pattern(std::vector<PatternNode> nodes, std::vector<JointCheck> checks)
    : nodes_(std::move(nodes)), checks_(std::move(checks)) {
  SPARSEBIT_CHECK(!nodes_.empty(), InvalidArgument, "a pattern needs at least one node");
  for (size_t i = 0; i < nodes_.size(); ++i) check_node(i);
  for (const JointCheck& check : checks_) check_joint(check);
  check_connected();
}

size_t Pattern::find(std::string_view name) const {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].name == name) return i;
  }
  throw Error(ErrorKind::InvalidArgument, c10::str("the pattern has no node '", name, "'"));
}

namespace {

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const fx::Operator* op : fx::operators().all()) names.push_back(op->name);
  return names;
}

}  // namespace

void Pattern::check_node(size_t index) const {
  const PatternNode& node = nodes_[index];
  SPARSEBIT_CHECK(!node.name.empty() && node.name != kAnything, InvalidArgument, "pattern node ",
                  index, " needs a name of its own");
  SPARSEBIT_CHECK(find(node.name) == index, InvalidArgument, "two pattern nodes are called '",
                  node.name, "'");
  for (const std::string& name : node.operators) {
    SPARSEBIT_CHECK(fx::operators().find_operator(name), InvalidArgument, "pattern node '",
                    node.name, "': unknown operator '", name, "'",
                    did_you_mean(name, operator_names()));
  }
  SPARSEBIT_CHECK(!node.operators.empty() || node.inputs.empty(), InvalidArgument, "pattern node '",
                  node.name, "' stands for any node, so it cannot name inputs");
  for (const std::string& input : node.inputs) {
    if (input == kAnything) continue;
    const bool earlier = std::any_of(nodes_.begin(), nodes_.begin() + static_cast<long>(index),
                                     [&](const PatternNode& other) { return other.name == input; });
    SPARSEBIT_CHECK(earlier, InvalidArgument, "pattern node '", node.name, "': its input '", input,
                    "' is not an earlier pattern node");
  }
}

void Pattern::check_joint(const JointCheck& check) const {
  SPARSEBIT_CHECK(check.check && check.names.size() > 1, InvalidArgument,
                  "a joint check needs a function and at least two pattern nodes");
  for (const std::string& name : check.names) find(name);
}

/// In an unconnected pattern, every combination of occurrences of its parts would be a match.
void Pattern::check_connected() const {
  std::vector<size_t> group(nodes_.size());
  std::iota(group.begin(), group.end(), size_t{0});
  const auto join = [&](size_t a, size_t b) {
    std::replace(group.begin(), group.end(), group[a], size_t{group[b]});
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& input : nodes_[i].inputs) {
      if (input != kAnything) join(i, find(input));
    }
  }
  for (size_t i = 1; i < nodes_.size(); ++i) {
    SPARSEBIT_CHECK(group[i] == group[0], InvalidArgument, "pattern node '", nodes_[i].name,
                    "' is not connected with '", nodes_[0].name, "'");
  }
}

}  // namespace sparsebit::passes
