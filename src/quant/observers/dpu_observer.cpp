#include "quant/observers/dpu_observer.h"

#include "quant/kernels/dpu_arithmetic.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

namespace sparsebit::quant {
namespace {

constexpr int kMostExponent = 12;
constexpr int kNarrower = 4;  // number of smaller scales that are tried

double squared_error_of(const at::Tensor& x, double scale, const QuantSpec& spec) {
  const at::Tensor steps = (x / scale).clamp(spec.qmin(), spec.qmax());
  const bool is_activation = spec.target == Target::Activation;
  const at::Tensor off = (is_activation ? dpu_round(steps) : at::round(steps)) * scale - x;
  return off.square().sum(at::kDouble).item<double>();
}

}  // namespace

DpuObserver::DpuObserver(const QuantSpec& spec, const ObserverConfig& config)
    : Observer(spec), is_network_input_(config.network_input) {
  SPARSEBIT_CHECK(!spec.is_per_channel() && spec.is_signed_symmetric(), InvalidArgument,
                  config.type, " needs QSCHEME per-tensor-symmetric with negative integers, not ",
                  to_string(spec.scheme));
}

int DpuObserver::exponent_of(const at::Tensor& x) const {
  const ValueRange bounds = bounds_of_rows(x);
  const double low = bounds.low.item<double>(), high = bounds.high.item<double>();
  const int first = dpu_exponent(std::max(low / static_cast<double>(spec().qmin()),
                                          high / static_cast<double>(spec().qmax())));
  int best = first;
  double least = std::numeric_limits<double>::infinity();
  for (int e = first; !is_network_input_ && e <= first + kNarrower; ++e) {
    const double error = squared_error_of(x, dpu_scale(e), spec());
    if (error < least) best = e;
    least = std::min(least, error);
  }
  return std::min(best, kMostExponent);
}

QParams DpuObserver::found_qparams() const {
  return {at::full({}, dpu_scale(exponent()), at::kFloat), at::zeros({})};
}

}  // namespace sparsebit::quant
