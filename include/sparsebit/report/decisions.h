#pragma once

#include "sparsebit/quant/quant_model.h"

#include <optional>
#include <string>
#include <vector>

namespace sparsebit::report {

/// How an input, parameter or output of a node is quantized.
struct IntegerTensor {
  std::string value;  ///< node name, or path of the weight or bias
  std::string part;   ///< "input", "weight", "bias" or "output"
  std::string kind;   ///< "uint8 per-tensor-affine mse"
  int bits;
  double low, high;  ///< the range, over all channels
};

/// The quantization decision about one node of a graph.
struct NodeDecision {
  std::string node;
  std::string shown;  ///< its name in the model file, or `node`
  std::string op;     ///< canonical name of the operator, or "" when it is unknown
  std::vector<IntegerTensor> integers = {};  ///< its quantized inputs, parameters and outputs
  /// Why the node or a part of it is float; names nodes by their shown names.
  std::optional<quant::Decision> why_float = {};

  bool is_quantized() const { return !why_float; }
};

/// One decision for each call in the graph, in graph order.
std::vector<NodeDecision> decisions_of(const quant::QuantModel& model);

/// A table for people: one line per node.
std::string to_text(const std::vector<NodeDecision>& decisions,
                    const platforms::Platform& platform);
/// JSON for tools: a list of objects.
std::string to_json(const std::vector<NodeDecision>& decisions,
                    const platforms::Platform& platform);

}  // namespace sparsebit::report
