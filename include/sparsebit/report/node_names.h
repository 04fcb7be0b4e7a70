#pragma once

#include "sparsebit/fx/graph.h"
#include "sparsebit/quant/spec/decision.h"

#include <string>
#include <unordered_map>

namespace sparsebit::report {

/// Maps node names of the graph to the names that reports show: those in the model file, as Netron
/// and other viewers show them.
class NodeNames {
 public:
  explicit NodeNames(const fx::Graph& graph);

  /// The shown name of a node; a string that is no node name is returned unchanged.
  const std::string& shown(const std::string& node) const;
  /// The decision with all node names replaced by shown names.
  quant::Decision shown(quant::Decision decision) const;

 private:
  std::unordered_map<std::string, std::string> shown_;  // only names that differ
};

}  // namespace sparsebit::report
