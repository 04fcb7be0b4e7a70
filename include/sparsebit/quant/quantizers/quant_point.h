#pragma once

#include "sparsebit/quant/quantizers/quantizer.h"

#include <string>
#include <vector>

namespace sparsebit::quant {

/// A quantizer and its position in the graph.
struct QuantPoint {
  std::string name;                         ///< of the node that calls the quantizer
  std::string value;                        ///< the quantized node, or the path of the tensor
  std::vector<std::string> consumers = {};  ///< nodes that read it
  QuantizerPtr quantizer;
  /// False if the value only copies values that are observed at other points of this quantizer.
  bool observed = true;

  bool is_weight() const { return quantizer->spec().target == Target::Weight; }
  bool is_activation() const { return quantizer->spec().target == Target::Activation; }
  bool is_bias() const { return quantizer->spec().target == Target::Bias; }
  /// For messages: "at 'x_quantizer', the quantizer of 'x'".
  std::string place() const;
};

}  // namespace sparsebit::quant
