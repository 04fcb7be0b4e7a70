#pragma once

#include "sparsebit/fx/graph_module.h"

#include <string>
#include <vector>

// Models that are quantized already, by this or another tool.

namespace sparsebit::quant {

/// The quantization that a graph contains.
struct QuantizedParts {
  int64_t activations = 0;                  ///< QuantizeLinear nodes
  int64_t weights = 0;                      ///< DequantizeLinear nodes of constants
  std::vector<std::string> operators = {};  ///< integer operators such as QLinearConv, each once

  bool empty() const { return activations == 0 && weights == 0 && operators.empty(); }
};
QuantizedParts quantized_parts(const fx::GraphModule& module);

/// Turns a model with Q/DQ pairs into a float model: removes the rounding of activations and
/// dequantizes the weights. If the zero point of a QuantizeLinear is the smallest integer, it may
/// have replaced a relu or relu6; it then becomes a clamp to its range. Other ranges are not kept.
/// Throws Unsupported, naming the nodes, if operators compute with integers.
void remove_quantization(fx::GraphModule& module);

}  // namespace sparsebit::quant
