#pragma once

#include "sparsebit/quant/quantizers/quantizer.h"

#include <memory>

namespace sparsebit::quant {

/// Quantizes a bias to int32 with input scale * weight scale, so that it can be added to the
/// integer sums of a layer, after adding a correction of the mean error of the layer. Cannot be
/// chosen in a config.
class Bias : public CloneableQuantizer<Bias> {
 public:
  Bias(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.Bias", spec, config) {}

  /// Makes the scale the product of the two scales, also when training changes them. Both
  /// quantizers must be calibrated.
  void follow(std::shared_ptr<const Quantizer> input, std::shared_ptr<const Quantizer> weight);

  /// For platforms with float biases: only the correction is added.
  void keep_float();
  bool is_float() const { return is_calibrated() && !input_; }

  /// Sets what is added to the bias while the quantizer is on: [outputs], float32.
  void set_correction(const at::Tensor& correction);
  void remove_correction();
  bool has_correction() const;
  /// The bias with its correction, not rounded.
  at::Tensor corrected(const at::Tensor& bias) const;

  QParams qparams() const override;
  std::string summary() const override;

 private:
  QParams find_qparams() override;
  at::Tensor simulate(const at::Tensor& x) const override;

  std::shared_ptr<const Quantizer> input_, weight_;
};

/// Whether the quantizer does not round: it is permanently off, or a bias that stays float.
bool stays_float(const Quantizer& quantizer);

}  // namespace sparsebit::quant
