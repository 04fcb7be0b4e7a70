#include "quant/observers/least_error_range.h"

#include "sparsebit/quant/kernels/fake_quant.h"

#include <ATen/ATen.h>

#include <limits>

namespace sparsebit::quant {

ValueRange least_error_range(const at::Tensor& rows, const ValueRange& bounds,
                             const QuantSpec& spec, double exponent) {
  constexpr int kOfTensor = 95, kOfChannels = 80;
  constexpr double kStep = 0.01;
  QuantSpec by_row = spec;
  by_row.scheme.granularity = Granularity::PerChannel;
  by_row.channel_axis = by_row.group_size = 0;
  ValueRange best = bounds;
  at::Tensor least =
      at::full_like(bounds.low, std::numeric_limits<double>::infinity(), at::kDouble);
  for (int i = 0; i < (spec.is_per_channel() ? kOfChannels : kOfTensor); ++i) {
    const double factor = 1 - kStep * i;
    const ValueRange candidate = {bounds.low * factor, bounds.high * factor};
    const QParams qparams = qparams_from_range(candidate.low, candidate.high, by_row);
    const at::Tensor off = (fake_quant(rows, qparams, by_row) - rows).abs();
    const at::Tensor error = at::pow(off, exponent).mean(1, false, at::kDouble);
    const at::Tensor is_better = error < least;
    least = at::where(is_better, error, least);
    best.low = at::where(is_better, candidate.low, best.low);
    best.high = at::where(is_better, candidate.high, best.high);
  }
  return best;
}

}  // namespace sparsebit::quant
