#pragma once

#include "sparsebit/quant/quantizers/quantizer.h"

#include <string>
#include <vector>

namespace sparsebit::quant {

/// A quantizer and where it is.
struct QuantPoint {
  std::string name;                         ///< of its node
  std::string value;                        ///< the node, or path of the tensor, that it quantizes
  std::vector<std::string> consumers = {};  ///< nodes that read it
  QuantizerPtr quantizer;
  /// False where copies of numbers pass that other points of the same quantizer have looked at.
  bool observed = true;

  bool is_weight() const { return quantizer->spec().target == Target::Weight; }
  bool is_feature() const { return quantizer->spec().target == Target::Feature; }
  bool is_bias() const { return quantizer->spec().target == Target::Bias; }
  /// For messages: "at 'x_quantizer', the quantizer of 'x'".
  std::string place() const;
};

}  // namespace sparsebit::quant
