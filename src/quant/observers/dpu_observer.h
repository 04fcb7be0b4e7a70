#pragma once

#include "sparsebit/quant/observers/observer.h"

namespace sparsebit::quant {

/// An observer of powers of two for the DPU of Vitis AI: per tensor, symmetric.
class DpuObserver : public Observer {
 public:
  /// Throws InvalidArgument, naming the observer, when the integers are others.
  DpuObserver(const QuantSpec& spec, const ObserverConfig& config);

 protected:
  /// The e of a batch: that of its largest number, or, unless it is an input of the network, one of
  /// the four above, with the least squared error of 2^-e. Not above 12.
  int exponent_of(const at::Tensor& x) const;

 private:
  /// Of all batches.
  virtual int exponent() const = 0;

  QParams found_qparams() const override;
  ValueRange found() const override { return range_of(found_qparams()); }

  bool is_network_input_;
};

}  // namespace sparsebit::quant
