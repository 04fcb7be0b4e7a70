#pragma once

#include "sparsebit/quant/quantizers/quant_point.h"

#include <string>
#include <vector>

namespace sparsebit::quant {

/// One operator of a quantized model with the quantizers of its inputs and weight. An input
/// quantizer may be shared with other consumers of the same value.
///
///     model.layer("fc").weight_quantizer().set_bits(4);
class QuantOpr {
 public:
  /// @param points  all quantizers of the model.
  QuantOpr(std::string name, const std::vector<QuantPoint>& points);

  /// The node name.
  const std::string& name() const { return name_; }

  /// The quantizers of its activations, in graph order. Operators such as add and matmul have
  /// several.
  const std::vector<Quantizer*>& input_quantizers() const { return inputs_; }
  bool has_weight_quantizer() const { return weight_ != nullptr; }

  /// Throws InvalidArgument unless it has exactly one.
  Quantizer& input_quantizer() const;
  /// Throws InvalidArgument if it has none.
  Quantizer& weight_quantizer() const;

 private:
  std::string name_;
  std::vector<Quantizer*> inputs_;
  Quantizer* weight_ = nullptr;
};

}  // namespace sparsebit::quant
