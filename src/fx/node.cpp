#include "sparsebit/fx/node.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/graph.h"

#include <algorithm>

namespace sparsebit::fx {

std::string_view to_string(Opcode op) {
  switch (op) {
    case Opcode::Placeholder:
      return "placeholder";
    case Opcode::GetAttr:
      return "get_attr";
    case Opcode::CallFunction:
      return "call_function";
    case Opcode::CallMethod:
      return "call_method";
    case Opcode::CallModule:
      return "call_module";
    case Opcode::Output:
      return "output";
  }
  return "?";
}

Node::Node(Key, Graph& graph, Opcode op, std::string name, std::string target)
    : graph_(&graph), op_(op), name_(std::move(name)), target_(std::move(target)) {}

const Argument* Node::kwarg(std::string_view name) const {
  for (const auto& [key, value] : kwargs_) {
    if (key == name) return &value;
  }
  return nullptr;
}

const std::string& Node::module_path() const {
  return op_ == Opcode::CallModule ? target_ : scope_;
}

void Node::inherit_origin(const Node& replaced) {
  if (module_path().empty()) scope_ = replaced.module_path();
  if (source_name_.empty()) source_name_ = replaced.source_name_;
}

void Node::link_inputs() {
  const auto link = [this](Node& producer) {
    // Only this node was appended to any users_ since unlink_inputs(), so a repeated use shows at
    // the back.
    if (!producer.users_.empty() && producer.users_.back() == this) return;
    producer.users_.push_back(this);
    inputs_.push_back(&producer);
    use_links_.push_back(std::prev(producer.users_.end()));
  };
  for (const Argument& arg : args_) arg.for_each_node(link);
  for (const auto& [key, value] : kwargs_) value.for_each_node(link);
}

void Node::unlink_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->users_.erase(use_links_[i]);
  inputs_.clear();
  use_links_.clear();
}

void Node::set_arguments(std::vector<Argument> args, Kwargs kwargs) {
  unlink_inputs();
  args_ = std::move(args);
  kwargs_ = std::move(kwargs);
  link_inputs();
  graph_->touch();
}

void Node::set_args(std::vector<Argument> args) { set_arguments(std::move(args), kwargs_); }

void Node::set_kwargs(Kwargs kwargs) { set_arguments(args_, std::move(kwargs)); }

void Node::set_arg(size_t index, Argument value) {
  SPARSEBIT_CHECK(index < args_.size(), InvalidArgument, "node '", name_, "' has ", args_.size(),
                  " arguments; there is no argument ", index);
  std::vector<Argument> args = args_;
  args[index] = std::move(value);
  set_args(std::move(args));
}

void Node::set_target(std::string target) {
  target_ = std::move(target);
  graph_->touch();
}

void Node::set_call(Opcode op, std::string target, std::vector<Argument> args, Kwargs kwargs) {
  scope_ = module_path();
  op_ = op;
  target_ = std::move(target);
  set_arguments(std::move(args), std::move(kwargs));
}

const std::string& Node::rename(std::string_view candidate) {
  if (candidate != name_) name_ = graph_->names_.unique(candidate);
  return name_;
}

void Node::swap_name(Node& other) {
  SPARSEBIT_CHECK(graph_ == other.graph_, InvalidArgument, "nodes '", name_, "' and '", other.name_,
                  "' are of different graphs");
  name_.swap(other.name_);
}

std::vector<Node*> Node::replace_all_uses_with(Node& replacement) {
  SPARSEBIT_CHECK(&replacement != this, InvalidArgument, "node '", name_,
                  "' cannot replace itself");
  std::vector<Node*> changed(users_.begin(), users_.end());
  std::erase(changed, &replacement);
  for (Node* user : changed) user->replace_input_with(*this, replacement);
  return changed;
}

void Node::replace_input_with(Node& old, const Value& replacement) {
  const auto check = [&](const Node& node) {
    SPARSEBIT_CHECK(node.graph_ == graph_, InvalidArgument, "node '", node.name_,
                    "' belongs to another graph than '", name_, "'");
  };
  check(old);
  replacement.for_each_node(check);
  for (Argument& arg : args_) arg.replace_node(old, replacement);
  for (auto& [key, value] : kwargs_) value.replace_node(old, replacement);
  const bool is_new_input =
      replacement.is_node() &&
      std::find(inputs_.begin(), inputs_.end(), &replacement.node()) == inputs_.end();
  if (is_new_input) {
    relink_input(old, replacement.node());
  } else {
    unlink_inputs();
    link_inputs();
  }
  graph_->touch();
}

/// Only the one link changes: a node may have thousands of inputs that are replaced one by one.
void Node::relink_input(Node& old, Node& replacement) {
  const auto it = std::find(inputs_.begin(), inputs_.end(), &old);
  if (it == inputs_.end()) return;
  *it = &replacement;
  std::list<Node*>::iterator& link = use_links_[it - inputs_.begin()];
  old.users_.erase(link);
  replacement.users_.push_back(this);
  link = std::prev(replacement.users_.end());
}

std::pair<std::vector<Argument>, Kwargs> Node::map_arguments(
    const std::function<Value(Node&)>& replace) const {
  std::vector<Argument> args;
  args.reserve(args_.size());
  for (const Argument& arg : args_) args.push_back(arg.map_nodes(replace));
  Kwargs kwargs;
  kwargs.reserve(kwargs_.size());
  for (const auto& [key, value] : kwargs_) kwargs.emplace_back(key, value.map_nodes(replace));
  return {std::move(args), std::move(kwargs)};
}

Node* Node::next() const {
  const auto it = std::next(self_);
  return it == graph_->nodes_.end() ? nullptr : &*it;
}

Node* Node::previous() const {
  return self_ == graph_->nodes_.begin() ? nullptr : &*std::prev(self_);
}

}  // namespace sparsebit::fx
