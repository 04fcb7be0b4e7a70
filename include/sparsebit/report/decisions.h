#pragma once

#include "sparsebit/quant/quant_model.h"

#include <string>
#include <vector>

namespace sparsebit::report {

/// How a tensor that a step reads or gives is quantized.
struct IntegerTensor {
  std::string value;  ///< node, or path of a weight
  std::string part;   ///< "input", "weight", "bias" or "result"
  std::string kind;   ///< "uint8 per-tensor-affine mse"
  int bits;
  double low, high;  ///< the range, of all channels
};

/// What was decided about one step of a graph.
struct Decision {
  std::string node;
  std::string op;  ///< canonical name of the operator, or "" when nobody knows it
  std::vector<IntegerTensor> integers = {};  ///< that it reads or gives
  std::string reason = {};                   ///< why it, or a part of it, stays float

  bool is_quantized() const { return reason.empty(); }
};

/// One for each step of the graph, in order.
std::vector<Decision> decisions_of(const quant::QuantModel& model);

/// For people: a line for each step.
std::string to_text(const std::vector<Decision>& decisions);
/// For tools: a list of objects.
std::string to_json(const std::vector<Decision>& decisions);

}  // namespace sparsebit::report
