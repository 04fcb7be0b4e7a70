#include "sparsebit/fx/graph.h"

#include "sparsebit/core/error.h"

#include <unordered_map>

namespace sparsebit::fx {
namespace {

std::string names_of(const std::list<Node*>& nodes) {
  constexpr size_t kMostNamed = 5;
  std::string text;
  size_t count = 0;
  for (const Node* node : nodes) {
    if (++count > kMostNamed) return text + ", ...";
    text += (text.empty() ? "'" : ", '") + node->name() + "'";
  }
  return text;
}

/// The copy of a node, while its graph is being copied.
template <class Copy>
const Copy& look_up(const std::unordered_map<const Node*, Copy>& copies, const Node& node) {
  const auto it = copies.find(&node);
  SPARSEBIT_CHECK(it != copies.end(), InvalidModel, "node '", node.name(),
                  "' is used before it is defined; call sort_topologically() first");
  return it->second;
}

}  // namespace

Graph::InsertPoint::InsertPoint(Graph& graph, std::list<Node>::iterator position) : graph_(graph) {
  graph.insert_points_.push_back(position);
}

Graph::InsertPoint Graph::inserting_before(Node& node) {
  check_owns(node);
  return {*this, node.self_};
}

Graph::InsertPoint Graph::inserting_after(Node& node) {
  check_owns(node);
  return {*this, std::next(node.self_)};
}

void Graph::check_owns(const Node& node) const {
  SPARSEBIT_CHECK(node.graph_ == this, InvalidArgument, "node '", node.name_,
                  "' belongs to another graph");
}

Node& Graph::create_node(Opcode op, std::string target, std::vector<Argument> args, Kwargs kwargs,
                         std::string_view name) {
  const bool is_function = op == Opcode::CallFunction || op == Opcode::CallMethod;
  const std::string wish = !name.empty() ? std::string(name)
                           : is_function ? name_from_function(target)
                                         : name_from_path(target);
  const auto it = nodes_.emplace(insert_points_.back(), Node::Key(), *this, op, names_.unique(wish),
                                 std::move(target));
  it->self_ = it;
  it->set_arguments(std::move(args), std::move(kwargs));
  return *it;
}

Node& Graph::placeholder(std::string target, std::optional<Value> default_value) {
  std::vector<Argument> args;
  if (default_value) args.push_back(std::move(*default_value));
  return create_node(Opcode::Placeholder, std::move(target), std::move(args));
}

Node& Graph::get_attr(std::string target) {
  return create_node(Opcode::GetAttr, std::move(target), {});
}

Node& Graph::call_function(std::string target, std::vector<Argument> args, Kwargs kwargs) {
  return create_node(Opcode::CallFunction, std::move(target), std::move(args), std::move(kwargs));
}

Node& Graph::call_method(std::string target, std::vector<Argument> args, Kwargs kwargs) {
  return create_node(Opcode::CallMethod, std::move(target), std::move(args), std::move(kwargs));
}

Node& Graph::call_module(std::string target, std::vector<Argument> args, Kwargs kwargs) {
  return create_node(Opcode::CallModule, std::move(target), std::move(args), std::move(kwargs));
}

Node& Graph::output(Argument result) {
  return create_node(Opcode::Output, "output", {std::move(result)});
}

void Graph::erase(Node& node) {
  check_owns(node);
  SPARSEBIT_CHECK(node.users_.empty(), InvalidArgument, "node '", node.name_,
                  "' cannot be erased while it is used by ", names_of(node.users_));
  node.unlink_inputs();
  for (auto& point : insert_points_) {
    if (point == node.self_) ++point;
  }
  nodes_.erase(node.self_);
  touch();
}

std::vector<Node*> Graph::node_list() {
  std::vector<Node*> list;
  list.reserve(nodes_.size());
  for (Node& node : nodes_) list.push_back(&node);
  return list;
}

const Node* Graph::find(std::string_view name) const {
  for (const Node& node : nodes_) {
    if (node.name() == name) return &node;
  }
  return nullptr;
}

Node* Graph::find(std::string_view name) {
  return const_cast<Node*>(std::as_const(*this).find(name));
}

std::vector<const Node*> Graph::placeholders() const {
  std::vector<const Node*> result;
  for (const Node& node : nodes_) {
    if (node.op() == Opcode::Placeholder) result.push_back(&node);
  }
  return result;
}

std::vector<Node*> Graph::placeholders() {
  std::vector<Node*> result;
  for (Node& node : nodes_) {
    if (node.op() == Opcode::Placeholder) result.push_back(&node);
  }
  return result;
}

const Node* Graph::output_node() const {
  for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
    if (it->op() == Opcode::Output) return &*it;
  }
  return nullptr;
}

Node* Graph::output_node() { return const_cast<Node*>(std::as_const(*this).output_node()); }

void Graph::sort_topologically() {
  enum class State { New, Open, Done };
  std::unordered_map<const Node*, State> states;
  states.reserve(nodes_.size());
  std::vector<Node*> order;
  order.reserve(nodes_.size());
  // Depth first along inputs with an explicit stack: chains are as long as the graph.
  for (Node* start : node_list()) {
    std::vector<std::pair<Node*, size_t>> stack = {{start, 0}};
    while (!stack.empty()) {
      auto& [node, next_input] = stack.back();
      State& state = states[node];
      if (state == State::Done) {
        stack.pop_back();
      } else if (next_input < node->inputs().size()) {
        state = State::Open;
        Node* input = node->inputs()[next_input++];
        check_owns(*input);
        SPARSEBIT_CHECK(states[input] != State::Open, InvalidModel,
                        "the graph has a cycle through '", input->name(), "' and '", node->name(),
                        "'");
        stack.emplace_back(input, 0);
      } else {
        state = State::Done;
        order.push_back(node);
        stack.pop_back();
      }
    }
  }
  for (Node* node : order) nodes_.splice(nodes_.end(), nodes_, node->self_);
  touch();
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>();
  std::unordered_map<const Node*, Node*> copies;
  copies.reserve(nodes_.size());
  const auto translate = [&](Node& node) -> Value { return *look_up(copies, node); };
  for (const Node& node : nodes_) {
    const auto it = copy->nodes_.emplace(copy->nodes_.end(), Node::Key(), *copy, node.op_,
                                         node.name_, node.target_);
    it->self_ = it;
    it->scope_ = node.scope_;
    it->source_name_ = node.source_name_;
    it->tensor_info_ = node.tensor_info_;
    copies.emplace(&node, &*it);
    auto [args, kwargs] = node.map_arguments(translate);
    it->set_arguments(std::move(args), std::move(kwargs));
  }
  copy->names_ = names_;
  return copy;
}

Value Graph::merge(const Graph& other, std::span<const Value> inputs) {
  SPARSEBIT_CHECK(&other != this, InvalidArgument,
                  "a graph cannot be merged into itself; clone it");
  const size_t expected = other.placeholders().size();
  SPARSEBIT_CHECK(inputs.size() == expected, InvalidArgument, "the merged graph has ", expected,
                  " inputs, got ", inputs.size());
  std::unordered_map<const Node*, Value> values;
  const auto translate = [&](Node& node) { return look_up(values, node); };
  size_t next_input = 0;
  for (const Node& node : other.nodes_) {
    if (node.op_ == Opcode::Placeholder) {
      values.emplace(&node, inputs[next_input++]);
      continue;
    }
    auto [args, kwargs] = node.map_arguments(translate);
    if (node.op_ == Opcode::Output) return args.at(0);
    Node& copy =
        create_node(node.op_, node.target_, std::move(args), std::move(kwargs), node.name_);
    copy.scope_ = node.scope_;
    copy.source_name_ = node.source_name_;
    copy.tensor_info_ = node.tensor_info_;
    values.emplace(&node, copy);
  }
  return None();
}

}  // namespace sparsebit::fx
