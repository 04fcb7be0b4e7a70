#include "passes/all_passes.h"
#include "passes/values.h"

#include "sparsebit/fx/ops/for_each_item.h"

#include <algorithm>
#include <unordered_map>

namespace sparsebit::passes {
namespace {

using fx::Node;

bool takes_tensor(const Node& node) {
  bool found = false;
  const auto look = [&](const fx::Value& item) { found |= item.is_tensor(); };
  for (const fx::Value& value : node.args()) fx::for_each_item(value, look);
  for (const auto& [name, value] : node.kwargs()) fx::for_each_item(value, look);
  return found;
}

/// Whether a second call with the same inputs gives the same result and has no side effects.
bool is_repeatable(const NodeView& view) {
  if (view.node->op() == fx::Opcode::GetAttr) return true;
  if (!view.call || draws_random_numbers(*view.call)) return false;
  const fx::Args& args = view.call->args;
  const bool trains = args.has("training") && args["training"].is_bool() &&
                      args["training"].to_bool();  // each call updates the statistics
  return view.call->op->effect == fx::Effect::None && !trains && !takes_tensor(*view.node);
}

/// A key that is equal for nodes that compute the same. Names of nodes are unique.
std::string text_of(const Node& node) {
  std::string text = c10::str(static_cast<int>(node.op()), node.target(), "(");
  for (const fx::Value& value : node.args()) text += to_string(value) + ", ";
  for (const auto& [name, value] : node.kwargs()) text += name + "=" + to_string(value) + ", ";
  return text;
}

void merge_equal_nodes(Rewriter& rewriter) {
  // An input that is written between the two nodes is not the same input.
  const auto reads_written = [&](const Node& node) {
    return std::any_of(node.inputs().begin(), node.inputs().end(),
                       [&](const Node* input) { return rewriter.memory().is_written(*input); });
  };
  std::unordered_map<std::string, Node*> first;
  for (Node* node : rewriter.index().nodes()) {
    if (reads_written(*node) || !is_repeatable(rewriter.index().view(*node))) continue;
    const auto [it, is_new] = first.emplace(text_of(*node), node);
    if (!is_new) rewriter.replace({{node, *it->second}});
  }
}

}  // namespace

Pass merge_duplicates() {
  return {.name = "merge_duplicates",
          .summary = "merge nodes that compute the same",
          .stage = Stage::Simplify,
          .run = merge_equal_nodes};
}

}  // namespace sparsebit::passes
