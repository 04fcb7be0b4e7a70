#include "quant/observers/batch_ranges.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::quant {

void WidestRange::add(const ValueRange& batch) {
  widest_.low = widest_.low.defined() ? at::minimum(widest_.low, batch.low) : batch.low.clone();
  widest_.high =
      widest_.high.defined() ? at::maximum(widest_.high, batch.high) : batch.high.clone();
}

void AverageRange::add(const ValueRange& batch) {
  const at::Tensor bounds = at::stack({batch.low, batch.high}).to(at::kDouble);
  average_ = count_ == 0 ? bounds : average_ * ratio_ + bounds * (1 - ratio_);
  if (count_ == 0) first_ = bounds;
  ++count_;
}

void AverageRange::append(const AverageRange& later) {
  if (count_ == 0) {
    average_ = later.average_;
    first_ = later.first_;
  } else {
    const double left = std::pow(ratio_, static_cast<double>(later.count_));
    average_ = average_ * left + later.average_ - later.first_ * left;
  }
  count_ += later.count_;
}

}  // namespace sparsebit::quant
