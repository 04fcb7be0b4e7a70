#pragma once

#include "sparsebit/fx/graph_module.h"

#include <string>
#include <vector>

// Models that come with integers of their own, from this or another tool.

namespace sparsebit::quant {

/// What a graph has of quantization already.
struct QuantizedParts {
  int64_t activations = 0;                  ///< QuantizeLinear nodes
  int64_t weights = 0;                      ///< DequantizeLinear nodes of constants
  std::vector<std::string> operators = {};  ///< that compute with integers: QLinearConv, each once

  bool empty() const { return activations == 0 && weights == 0 && operators.empty(); }
};
QuantizedParts quantized_parts(const fx::GraphModule& module);

/// Makes a float model of one with pairs of QuantizeLinear and DequantizeLinear: activations are
/// not rounded any more, integer weights become the floats that they stand for. Where the zero
/// point is the smallest integer, a relu or relu6 may have been left out, so that activations are
/// clamped to the range they had; other ranges are not kept. Throws Unsupported, naming the nodes,
/// when something computes with integers.
void remove_quantization(fx::GraphModule& module);

}  // namespace sparsebit::quant
