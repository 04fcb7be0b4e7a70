#include "sparsebit/quant/spec/qparams.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {

QParams qparams_from_range(const at::Tensor& low, const at::Tensor& high, const QuantSpec& spec) {
  const at::Tensor lo = low.to(at::kFloat).clamp_max(0), hi = high.to(at::kFloat).clamp_min(0);
  SPARSEBIT_CHECK(at::isfinite(hi - lo).all().item<bool>(), InvalidArgument,
                  "the range of values is not finite");
  const double steps = static_cast<double>(spec.qmax() - spec.qmin());
  if (spec.is_symmetric()) {
    const at::Tensor scale = (2 * at::maximum(-lo, hi) / steps).clamp_min(kLeastScale);
    return {scale, at::zeros_like(scale)};
  }
  const at::Tensor scale = ((hi - lo) / steps).clamp_min(kLeastScale);
  return {scale, at::round(-lo / scale)};
}

}  // namespace sparsebit::quant
