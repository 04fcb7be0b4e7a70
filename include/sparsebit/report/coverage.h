#pragma once

#include "sparsebit/quant/quant_model.h"

#include <optional>
#include <string>
#include <vector>

namespace sparsebit::report {

/// What the target will do with one node of a graph.
struct NodeCoverage {
  std::string node;
  std::string shown;  ///< its name in the model's file, or `node`
  std::string op;     ///< canonical name of the operator
  int64_t macs = 0;   ///< of the example that shapes were recorded with; 0 for cheap nodes
  /// With the nodes' names as they are shown; nothing: it computes with integers.
  std::optional<quant::Decision> why_float = {};
};

/// How much of a quantized model the platform computes with integers.
struct Coverage {
  std::vector<NodeCoverage> nodes;  ///< in graph order; without those that compute nothing

  double share_of_nodes() const;
  /// 1 when there is nothing to multiply.
  double share_of_macs() const;
  /// Those in float, most MACs first.
  std::vector<const NodeCoverage*> floats() const;
};

/// Read off the quantizers in the graph by the platform's table, whatever placement wanted.
Coverage coverage_of(const quant::QuantModel& model);

}  // namespace sparsebit::report
