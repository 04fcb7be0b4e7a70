#pragma once

#include "sparsebit/quant/quantizers/quantizer.h"

namespace sparsebit::quant {

/// Learns to round each weight up or down so that the layer's output error is smallest (Nagel et
/// al., 2020). Before start() it rounds to nearest. The learned parameter `v` has the weight's
/// shape: in training mode a weight is floor(w / scale) + share_up(), from 0 to 1; in eval mode it
/// is rounded up if v >= 0.
class Adaround : public Quantizer {
 public:
  Adaround(const QuantSpec& spec, const TensorConfig& config);

  /// Initializes `v` so that in training mode the weights are unchanged. Requires calibration.
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
