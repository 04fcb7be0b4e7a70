#include "sparsebit/quant/spec/qparams.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

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

at::Tensor spread_over(const at::Tensor& per_scale, const at::Tensor& x, const QuantSpec& spec) {
  if (per_scale.dim() == 0) return per_scale;
  if (per_scale.dim() == 1) {
    std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
    shape[static_cast<size_t>(std::min(spec.channel_axis, x.dim() - 1))] = -1;
    return per_scale.view(shape);
  }
  at::Tensor each = per_scale.repeat_interleave(spec.group_size, 1);  // a number for each input
  while (each.dim() < x.dim()) each = each.unsqueeze(-1);
  return each;
}

}  // namespace sparsebit::quant
