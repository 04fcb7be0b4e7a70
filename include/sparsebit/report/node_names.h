#pragma once

#include "sparsebit/fx/graph.h"
#include "sparsebit/quant/spec/decision.h"

#include <string>
#include <unordered_map>

namespace sparsebit::report {

/// Names that reports show instead of those of the graph: the nodes' names in the model's file,
/// which is what Netron and other viewers show.
class NodeNames {
 public:
  explicit NodeNames(const fx::Graph& graph);

  /// The name of a node as it is shown; what names no node stays as it is.
  const std::string& shown(const std::string& node) const;
  /// The decision with the nodes it names as they are shown.
  quant::Decision shown(quant::Decision decision) const;

 private:
  std::unordered_map<std::string, std::string> shown_;  // only those that differ
};

}  // namespace sparsebit::report
