#include "sparsebit/report/node_names.h"

namespace sparsebit::report {

NodeNames::NodeNames(const fx::Graph& graph) {
  for (const fx::Node& node : graph.nodes()) {
    if (node.shown_name() != node.name()) shown_.emplace(node.name(), node.shown_name());
  }
}

const std::string& NodeNames::shown(const std::string& node) const {
  const auto it = shown_.find(node);
  return it == shown_.end() ? node : it->second;
}

quant::Decision NodeNames::shown(quant::Decision decision) const {
  decision.node = shown(decision.node);
  if (quant::other_is_node(decision.kind)) decision.other = shown(decision.other);
  return decision;
}

}  // namespace sparsebit::report
