#pragma once

#include "sparsebit/quant/quantizers/quantizer.h"

#include <memory>

namespace sparsebit::quant {

/// Quantizes a bias to int32 with input scale * weight scale, so that it can be added to the
/// integer sums of a layer. Cannot be chosen in a config.
class Bias : public CloneableQuantizer<Bias> {
 public:
  Bias(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.Bias", spec, config) {}

  /// Makes the scale the product of the two scales, also when training changes them. Both
  /// quantizers must be calibrated.
  void follow(std::shared_ptr<const Quantizer> input, std::shared_ptr<const Quantizer> weight);

  QParams qparams() const override;

 private:
  QParams find_qparams() override;
  at::Tensor simulate(const at::Tensor& x) const override;

  std::shared_ptr<const Quantizer> input_, weight_;
};

}  // namespace sparsebit::quant
