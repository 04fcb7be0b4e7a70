#pragma once

#include "sparsebit/quant/quant_model.h"

#include <optional>
#include <string>
#include <vector>

namespace sparsebit::report {

/// How a tensor that a node reads or gives is quantized.
struct IntegerTensor {
  std::string value;  ///< node, or path of a weight
  std::string part;   ///< "input", "weight", "bias" or "output"
  std::string kind;   ///< "uint8 per-tensor-affine mse"
  int bits;
  double low, high;  ///< the range, of all channels
};

/// What was decided about one node of a graph.
struct NodeDecision {
  std::string node;
  std::string shown;  ///< its name in the model's file, or `node`
  std::string op;     ///< canonical name of the operator, or "" when it is unknown
  std::vector<IntegerTensor> integers = {};  ///< that it reads or gives
  /// Of the node, or of a part of it; with the nodes' names as they are shown.
  std::optional<quant::Decision> why_float = {};

  bool is_quantized() const { return !why_float; }
};

/// One for each node of the graph that computes, in order.
std::vector<NodeDecision> decisions_of(const quant::QuantModel& model);

/// For people: a line for each node.
std::string to_text(const std::vector<NodeDecision>& decisions,
                    const platforms::Platform& platform);
/// For tools: a list of objects.
std::string to_json(const std::vector<NodeDecision>& decisions,
                    const platforms::Platform& platform);

}  // namespace sparsebit::report
