#pragma once

#include "sparsebit/quant/quantizers/quantizer.h"

#include <memory>

namespace sparsebit::quant {

/// Rounds a bias to what is added to sums of integer products: int32 of the scale of input times
/// weight. Nobody chooses it in a config.
class Bias : public CloneableQuantizer<Bias> {
 public:
  Bias(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.Bias", spec, config) {}

  /// From now on its scale is the product of theirs, also when training changes them. Both are
  /// calibrated.
  void follow(std::shared_ptr<const Quantizer> input, std::shared_ptr<const Quantizer> weight);

  QParams qparams() const override;

 private:
  QParams find_qparams() override;
  at::Tensor simulate(const at::Tensor& x) const override;

  std::shared_ptr<const Quantizer> input_, weight_;
};

}  // namespace sparsebit::quant
