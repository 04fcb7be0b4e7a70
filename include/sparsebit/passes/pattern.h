#pragma once

#include "sparsebit/fx/resolve.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::passes {

/// How the inputs that a pattern node names stand for those of a graph node.
enum class InputOrder {
  Exact,   ///< as many, at the same positions
  Any,     ///< as many, in any order: add, mul
  Subset,  ///< some of them, in any order: cat
};

/// Who may use the value of a node.
enum class Users {
  Free,    ///< anybody
  Inside,  ///< only other nodes of the match: nobody misses the value when it is gone
};

/// A node of the graph with its call read by argument name.
struct NodeView {
  fx::Node* node = nullptr;
  std::optional<fx::OperatorCall> call = {};  ///< nothing for nodes that call no known operator
  /// The nodes among the arguments in the order of the operator's schema, lists flattened; a node
  /// that is given twice stands here twice.
  std::vector<fx::Node*> inputs = {};

  bool is(std::string_view operator_name) const { return call && call->op->name == operator_name; }
  /// An argument of the call, which must have one of this name.
  const fx::Value& arg(std::string_view name) const { return call->args[name]; }
};

class GraphIndex;

/// One occurrence of a pattern.
class Match {
 public:
  /// By the pattern node's name. Throws InvalidArgument when the pattern has no such node, or, in a
  /// joint check, when the check does not name it.
  const NodeView& operator[](std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  fx::Node& node(std::string_view name) const { return *(*this)[name].node; }
  /// In the order in which the pattern names them.
  std::vector<fx::Node*> nodes() const;
  /// Without those that may be any node.
  std::vector<fx::Node*> operator_nodes() const;
  /// The one that the graph runs last.
  fx::Node& last(const GraphIndex& index) const;

 private:
  friend class Matcher;
  struct Entry {
    std::string name;
    const NodeView* node;
    bool is_operator;  // not any node
  };
  const Entry* find(std::string_view name) const;

  std::vector<Entry> entries_;
};

/// Stands for an input that may be anything and needs no name.
inline constexpr const char* kAnything = "*";

/// One node of a pattern.
struct PatternNode {
  std::string name;
  /// Operators by canonical name: {"conv1d", "conv2d"}. None: any node, model inputs included.
  std::vector<std::string> operators = {};
  /// One entry per input: the name of an earlier pattern node, or kAnything. None: not looked at.
  std::vector<std::string> inputs = {};
  InputOrder order = InputOrder::Exact;
  Users users = Users::Free;
  /// A further condition on this node alone; empty = none.
  std::function<bool(const NodeView&)> check = {};
};

/// A condition on several nodes, tried as soon as all of them are found.
struct JointCheck {
  std::vector<std::string> names;
  std::function<bool(const Match&)> check;
};

/// A small graph to look for in a model's graph:
///
///     Pattern({{.name = "conv", .operators = {"conv2d"}, .users = Users::Inside},
///              {.name = "bn", .operators = {"batch_norm"}, .inputs = {"conv"}}})
///
/// Different pattern nodes stand for different nodes. A node that nobody in the pattern uses is an
/// output; there may be several.
class Pattern {
 public:
  /// Throws InvalidArgument unless names are unique, inputs name earlier nodes, operators exist,
  /// checks name nodes of the pattern, and all nodes hang together.
  explicit Pattern(std::vector<PatternNode> nodes, std::vector<JointCheck> checks = {});
  Pattern(std::initializer_list<PatternNode> nodes, std::vector<JointCheck> checks = {})
      : Pattern(std::vector<PatternNode>(nodes), std::move(checks)) {}

  const std::vector<PatternNode>& nodes() const { return nodes_; }
  const std::vector<JointCheck>& checks() const { return checks_; }
  /// The position of a node. Throws InvalidArgument when there is none of this name.
  size_t find(std::string_view name) const;

 private:
  void check_node(size_t index) const;
  void check_joint(const JointCheck& check) const;
  void check_connected() const;

  std::vector<PatternNode> nodes_;
  std::vector<JointCheck> checks_;
};

}  // namespace sparsebit::passes
