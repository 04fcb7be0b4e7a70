#pragma once

#include "sparsebit/fx/ops/value.h"

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sparsebit::fx {

class Graph;

/// The six kinds of node, as in torch.fx.
enum class Opcode { Placeholder, GetAttr, CallFunction, CallMethod, CallModule, Output };

/// "placeholder", "get_attr", "call_function", "call_method", "call_module", "output".
std::string_view to_string(Opcode op);

/// An argument as in torch.fx: any value; nodes inside stand for their results.
using Argument = Value;

/// Shape and element type of a node's result: recorded by record_shapes(), or known from the
/// model's file.
struct TensorInfo {
  std::vector<int64_t> shape;  ///< -1 where the size is not fixed
  at::ScalarType dtype;
  /// Names of the sizes that are not fixed ("batch"), "" for the others; or no names at all.
  std::vector<std::string> symbols = {};
  bool operator==(const TensorInfo&) const = default;
};

/// One node of a graph. Created, ordered and destroyed by its Graph; pointers stay valid until
/// Graph::erase().
///
/// The links between producers and consumers follow from the arguments; the setters keep them up to
/// date.
class Node {
 public:
  class Key {  // only Graph can construct nodes, but std::list has to be able to
    friend class Graph;
    Key() = default;
  };
  Node(Key, Graph& graph, Opcode op, std::string name, std::string target);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Opcode op() const { return op_; }
  /// Unique in the graph; an identifier such as `layer1_0_conv1`.
  const std::string& name() const { return name_; }
  /// call_module, get_attr: dotted path. call_function: qualified name such as `torch.add`.
  /// call_method: method name. placeholder: name of the input. output: "output".
  const std::string& target() const { return target_; }
  const std::vector<Argument>& args() const { return args_; }
  const Kwargs& kwargs() const { return kwargs_; }
  /// The keyword argument, or null.
  const Argument* kwarg(std::string_view name) const;

  /// Nodes among the arguments, each once, in order of first appearance.
  const std::vector<Node*>& inputs() const { return inputs_; }
  /// Nodes that use this one, each once, oldest use first.
  const std::list<Node*>& users() const { return users_; }
  Graph& graph() const { return *graph_; }
  Node* next() const;      ///< null at the end
  Node* previous() const;  ///< null at the beginning

  /// Dotted path of the module whose forward made this node; for a call_module node its target.
  /// Config patterns match this as well as name().
  const std::string& module_path() const;
  void set_module_path(std::string path) { scope_ = std::move(path); }

  /// Name of the node in the model's file that this one was read from, as viewers of the file show
  /// it; empty when there is none. Config patterns match this, too.
  const std::string& source_name() const { return source_name_; }
  void set_source_name(std::string name) { source_name_ = std::move(name); }
  /// source_name(), or name() when there is none: what reports show.
  const std::string& shown_name() const { return source_name_.empty() ? name_ : source_name_; }
  /// Takes module path and source name from a node that this one replaces, where its own are empty.
  void inherit_origin(const Node& replaced);

  /// Set when the result is a tensor whose shape is known.
  const std::optional<TensorInfo>& tensor_info() const { return tensor_info_; }
  void set_tensor_info(std::optional<TensorInfo> info) { tensor_info_ = std::move(info); }

  /// Copies of args() and kwargs() in which every node is replaced by `replace(node)`.
  std::pair<std::vector<Argument>, Kwargs> map_arguments(
      const std::function<Value(Node&)>& replace) const;

  void set_args(std::vector<Argument> args);
  void set_kwargs(Kwargs kwargs);
  void set_arg(size_t index, Argument value);
  void set_target(std::string target);
  /// Becomes another call, of a function, method or module, under the same name and module path.
  void set_call(Opcode op, std::string target, std::vector<Argument> args, Kwargs kwargs = {});
  /// Takes a name that follows from `candidate` by the naming rules; returns it.
  const std::string& rename(std::string_view candidate);
  void swap_name(Node& other);  ///< for a node that replaces another

  /// Every user reads `replacement` instead. A use by `replacement` itself stays, so that a node
  /// can be put between this one and its users. Returns the users that changed.
  std::vector<Node*> replace_all_uses_with(Node& replacement);
  /// Reads `replacement` wherever this node read `old`.
  void replace_input_with(Node& old, const Value& replacement);

 private:
  friend class Graph;

  void link_inputs();
  void unlink_inputs();
  void relink_input(Node& old, Node& replacement);
  void set_arguments(std::vector<Argument> args, Kwargs kwargs);

  Graph* graph_;
  Opcode op_;
  std::string name_;
  std::string target_;
  std::string scope_;
  std::string source_name_;
  std::vector<Argument> args_;
  Kwargs kwargs_;
  std::optional<TensorInfo> tensor_info_;

  std::vector<Node*> inputs_;
  std::vector<std::list<Node*>::iterator> use_links_;  // of inputs_[i]: this node in its users_
  std::list<Node*> users_;
  std::list<Node>::iterator self_;  // position in the graph
};

/// `%name : [#users=1] = call_module[target=conv1](args=(%x,), kwargs={})`
std::string to_string(const Node& node);

/// A value as it stands in a graph's text: nodes as %name.
std::string to_string(const Value& value);

}  // namespace sparsebit::fx
