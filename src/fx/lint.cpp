#include "sparsebit/fx/lint.h"

#include "sparsebit/core/error.h"

#include <algorithm>
#include <unordered_set>

namespace sparsebit::fx {
namespace {

[[noreturn]] void fail(const Node& node, const std::string& problem) {
  throw Error(ErrorKind::InvalidModel, {.what = problem, .where = "node '" + node.name() + "'"});
}

void check_arguments(const Node& node) {
  switch (node.op()) {
    case Opcode::Placeholder:
      if (node.args().size() > 1) fail(node, "a placeholder has at most one argument, its default");
      break;
    case Opcode::GetAttr:
      if (!node.args().empty() || !node.kwargs().empty())
        fail(node, "a get_attr node has no arguments");
      break;
    case Opcode::Output:
      if (node.args().size() != 1) fail(node, "an output node has exactly one argument");
      if (!node.users().empty()) fail(node, "the output node cannot be used");
      break;
    case Opcode::CallMethod:
      if (node.args().empty())
        fail(node, "a call_method node needs the object as its first argument");
      break;
    default:
      break;
  }
  if (node.target().empty()) fail(node, "the target is empty");
}

class Linter {
 public:
  explicit Linter(const Graph& graph) : graph_(graph) {}

  void check(const Node& node) {
    if (!names_.insert(node.name()).second) fail(node, "the name is used twice");
    if (output_) fail(node, "comes after the output node '" + output_->name() + "'");
    if (&node.graph() != &graph_) fail(node, "belongs to another graph");
    check_arguments(node);
    for (const Node* input : node.inputs()) check_input(node, *input);
    if (node.op() == Opcode::Output) output_ = &node;
    defined_.insert(&node);
    links_ += node.inputs().size();
    uses_ += node.users().size();
  }

  /// Each input is listed among its producer's users, so equal totals mean that there are no other
  /// users.
  void finish() const {
    SPARSEBIT_CHECK(links_ == uses_, InvalidModel, "inconsistent links (inputs: ", links_,
                    ", users: ", uses_, "): a node outside of the graph uses one of its nodes");
  }

 private:
  void check_input(const Node& node, const Node& input) const {
    if (&input.graph() != &graph_) {
      fail(node, "uses '" + input.name() + "', which belongs to another graph");
    }
    if (!defined_.contains(&input)) {
      fail(node, "uses '" + input.name() + "', which comes later; call sort_topologically()");
    }
  }

  const Graph& graph_;
  const Node* output_ = nullptr;
  std::unordered_set<std::string_view> names_;
  std::unordered_set<const Node*> defined_;
  size_t links_ = 0;
  size_t uses_ = 0;
};

}  // namespace

void lint(const Graph& graph) {
  Linter linter(graph);
  for (const Node& node : graph.nodes()) linter.check(node);
  linter.finish();
}

void lint(const Graph& graph, const Module& root) {
  lint(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op() == Opcode::CallModule && !root.find_module(node.target())) {
      fail(node,
           "calls the module '" + node.target() + "', which " + root.type() + " does not have");
    }
    if (node.op() == Opcode::GetAttr && !root.find_tensor(node.target()) &&
        !root.find_attribute(node.target())) {
      fail(node, "reads '" + node.target() + "', which " + root.type() + " does not have");
    }
  }
}

}  // namespace sparsebit::fx
