#pragma once

#include "sparsebit/fx/resolve.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::passes {

/// How the inputs of a pattern node are matched to those of a graph node.
enum class InputOrder {
  Exact,   ///< same number, at the same positions
  Any,     ///< same number, in any order: add, mul
  Subset,  ///< a subset of the graph node's inputs, in any order: cat
};

/// Which nodes may read the value of a matched node.
enum class Users {
  Free,    ///< any node
  Inside,  ///< only other nodes of the match, so that the node can be removed
};

/// A node of the graph with its call read by argument name.
struct NodeView {
  fx::Node* node = nullptr;
  std::optional<fx::OperatorCall> call = {};  ///< empty for nodes that call no known operator
  /// The nodes among the arguments in the order of the operator's schema, lists flattened; a node
  /// that is passed twice is listed twice.
  std::vector<fx::Node*> inputs = {};

  bool is(std::string_view operator_name) const { return call && call->op->name == operator_name; }
  /// An argument of the call, which must exist.
  const fx::Value& arg(std::string_view name) const { return call->args[name]; }
};

class GraphIndex;

/// One occurrence of a pattern.
class Match {
 public:
  /// The graph node matched to a pattern node. Throws InvalidArgument when the pattern has no node
  /// of this name, or, in a joint check, when the check does not name it.
  const NodeView& operator[](std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  fx::Node& node(std::string_view name) const { return *(*this)[name].node; }
  /// The matched nodes, in the order of the pattern.
  std::vector<fx::Node*> nodes() const;
  /// Likewise, without pattern nodes that match any node.
  std::vector<fx::Node*> operator_nodes() const;
  /// The matched node that runs last.
  fx::Node& last(const GraphIndex& index) const;

 private:
  friend class Matcher;
  struct Entry {
    std::string name;
    const NodeView* node;
    bool is_operator;  // false for a pattern node that matches any node
  };
  const Entry* find(std::string_view name) const;

  std::vector<Entry> entries_;
};

/// Matches any input, without a name.
inline constexpr const char* kAnything = "*";

/// One node of a pattern.
struct PatternNode {
  std::string name;
  /// Operators by canonical name: {"conv1d", "conv2d"}. Empty: any node, including model inputs.
  std::vector<std::string> operators = {};
  /// One entry per input: the name of an earlier pattern node, or kAnything. Empty: inputs are not
  /// checked.
  std::vector<std::string> inputs = {};
  InputOrder order = InputOrder::Exact;
  Users users = Users::Free;
  /// A further condition on this node alone; may be empty.
  std::function<bool(const NodeView&)> check = {};
};

/// A condition on several nodes, checked as soon as all of them are matched.
struct JointCheck {
  std::vector<std::string> names;
  std::function<bool(const Match&)> check;
};

/// A small graph to look for in a model's graph:
///
///     Pattern({{.name = "conv", .operators = {"conv2d"}, .users = Users::Inside},
///              {.name = "bn", .operators = {"batch_norm"}, .inputs = {"conv"}}})
///
/// Different pattern nodes match different graph nodes. A pattern node that is no input of another
/// one is an output; there may be several.
class Pattern {
 public:
  /// Throws InvalidArgument unless names are unique, inputs name earlier nodes, operators exist,
  /// checks name nodes of the pattern, and all nodes are connected.
  explicit Pattern(std::vector<PatternNode> nodes, std::vector<JointCheck> checks = {});
  Pattern(std::initializer_list<PatternNode> nodes, std::vector<JointCheck> checks = {})
      : Pattern(std::vector<PatternNode>(nodes), std::move(checks)) {}

  const std::vector<PatternNode>& nodes() const { return nodes_; }
  const std::vector<JointCheck>& checks() const { return checks_; }
  /// The position of a node. Throws InvalidArgument for an unknown name.
  size_t find(std::string_view name) const;

 private:
  void check_node(size_t index) const;
  void check_joint(const JointCheck& check) const;
  void check_connected() const;

  std::vector<PatternNode> nodes_;
  std::vector<JointCheck> checks_;
};

}  // namespace sparsebit::passes
