#pragma once

#include "sparsebit/quant/quant_model.h"

#include <optional>
#include <string>
#include <vector>

namespace sparsebit::report {

/// Whether the target computes one node of a graph with integers or in float.
struct NodeCoverage {
  std::string node;
  std::string shown;  ///< its name in the model file, or `node`
  std::string op;     ///< canonical name of the operator
  int64_t macs = 0;   ///< with the recorded shapes; 0 for operators without MACs
  /// Names nodes by their shown names; nullopt if the node computes with integers.
  std::optional<quant::Decision> why_float = {};
};

/// Integer coverage: the nodes of a quantized model that the platform computes with integers.
struct Coverage {
  std::vector<NodeCoverage> nodes;  ///< in graph order, without nodes that compute nothing

  double share_of_nodes() const;
  /// 1 if the model has no MACs.
  double share_of_macs() const;
  /// The float nodes, most MACs first.
  std::vector<const NodeCoverage*> floats() const;
};

/// Derived from the quantizers in the graph and the platform's operator table, not from placement's
/// decisions: quantizers may have been switched off since.
Coverage coverage_of(const quant::QuantModel& model);

}  // namespace sparsebit::report
