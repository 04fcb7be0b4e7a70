#pragma once

#include "sparsebit/quant/observers/observer.h"

namespace sparsebit::quant {

/// Base class of observers that find power-of-two scales for the DPU of Vitis AI: per tensor,
/// symmetric.
class DpuObserver : public Observer {
 public:
  /// Throws InvalidArgument, naming the observer, unless the spec is per-tensor and signed
  /// symmetric.
  DpuObserver(const QuantSpec& spec, const ObserverConfig& config);

 protected:
  /// The exponent e of the scale 2^-e of a batch: the largest without clipping or one of the four
  /// above, whichever has the least squared error; inputs of the network are not clipped. At
  /// most 12.
  int exponent_of(const at::Tensor& x) const;

 private:
  /// The exponent over all batches.
  virtual int exponent() const = 0;

  QParams found_qparams() const override;
  ValueRange found() const override { return range_of(found_qparams()); }

  bool is_network_input_;
};

}  // namespace sparsebit::quant
