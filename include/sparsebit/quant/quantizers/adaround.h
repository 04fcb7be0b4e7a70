#pragma once

#include "sparsebit/quant/quantizers/quantizer.h"

namespace sparsebit::quant {

/// Rounds each weight up or down, whichever a layer's outputs like better (Nagel et al., 2020).
/// Until start() it rounds to the nearest. What decides is the parameter `v`, of the weight's
/// shape: while training, a weight is moved up by share_up(), from 0 to 1; in eval mode it is moved
/// if v >= 0.
class Adaround : public Quantizer {
 public:
  Adaround(const QuantSpec& spec, const TensorConfig& config);

  /// Makes `v` such that in training mode each weight is what it was. Calibrated before.
  void start(const at::Tensor& weight);
  /// clamp(1.2 * sigmoid(v) - 0.1, 0, 1)
  at::Tensor share_up() const;

 protected:
  fx::ModulePtr shallow_copy() const override;

  bool needs_training() const override { return true; }

 private:
  at::Tensor simulate(const at::Tensor& x) const override;
};

}  // namespace sparsebit::quant
