#pragma once

#include "sparsebit/fx/graph_module.h"

#include <string>
#include <vector>

// Models that come with integers of their own, from this or another tool.

namespace sparsebit::quant {

/// What a graph has of quantization already.
struct QuantizedParts {
  int64_t pairs = 0;                        ///< QuantizeLinear nodes
  std::vector<std::string> operators = {};  ///< that compute with integers: QLinearConv, each once

  bool empty() const { return pairs == 0 && operators.empty(); }
};
QuantizedParts quantized_parts(const fx::GraphModule& module);

/// Makes a float model of one with pairs of QuantizeLinear and DequantizeLinear: activations are
/// not rounded any more, and weights are the floats that their integers stand for. Where rounding
/// cut off what is negative, it is clamped: there a relu was left out. Throws Unsupported when
/// there are operators that compute with integers.
void remove_quantization(fx::GraphModule& module);

}  // namespace sparsebit::quant
