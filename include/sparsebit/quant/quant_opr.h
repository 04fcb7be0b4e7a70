#pragma once

#include "sparsebit/quant/quantizers/quant_point.h"

#include <string>
#include <vector>

namespace sparsebit::quant {

/// One operator of a quantized model with the quantizers of what it reads. They belong to values,
/// so that one of its inputs may be that of other operators as well.
///
///     model.layer("fc").weight_quantizer().set_bits(4);
class QuantOpr {
 public:
  /// @param points  all of the model's.
  QuantOpr(std::string name, const std::vector<QuantPoint>& points);

  /// Of its node.
  const std::string& name() const { return name_; }

  /// Of its features, in the order of the graph; those of an operator with several inputs (add,
  /// matmul) are as many.
  const std::vector<Quantizer*>& input_quantizers() const { return inputs_; }
  bool has_weight_quantizer() const { return weight_ != nullptr; }

  /// Throws InvalidArgument unless there is exactly one.
  Quantizer& input_quantizer() const;
  /// Throws InvalidArgument when there is none.
  Quantizer& weight_quantizer() const;

 private:
  std::string name_;
  std::vector<Quantizer*> inputs_;
  Quantizer* weight_ = nullptr;
};

}  // namespace sparsebit::quant
