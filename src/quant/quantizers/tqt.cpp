#include "quant/kernels/dpu_arithmetic.h"
#include "quant/quantizers/all_quantizers.h"
#include "quant/quantizers/given_slope.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// Simulates the DPU of Vitis AI: the scale is rounded up to a power of two, and activations are
/// rounded by dpu_round().
class Tqt : public CloneableQuantizer<Tqt> {
 public:
  Tqt(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.Tqt", spec, config) {
    SPARSEBIT_CHECK(!spec.is_per_channel() && spec.is_symmetric(), InvalidArgument,
                    "tqt needs QSCHEME per-tensor-symmetric, not ", to_string(spec.scheme));
  }

  QParams qparams() const override {
    const auto [scale, zero_point] = Quantizer::qparams();
    const int exponent = dpu_exponent(scale.abs().item<double>());
    return {at::full({}, dpu_scale(exponent), at::kFloat), zero_point};
  }

 private:
  at::Tensor simulate(const at::Tensor& x) const override {
    if (spec().target != Target::Activation) return fake_quant(x, qparams(), spec());
    const double scale = qparams().scale.item<double>();
    const int64_t qmin = spec().qmin(), qmax = spec().qmax();
    const at::ScalarType type = at::promote_types(x.scalar_type(), at::kFloat);
    const at::Tensor steps = x.detach().to(type) / scale;
    const at::Tensor result = dpu_round(steps.clamp(qmin, qmax)) * scale;
    const at::Tensor rounded = at::round(steps);
    return with_slope(x, result.to(x.scalar_type()),
                      rounded.ge(qmin).logical_and(rounded.le(qmax)));
  }
};

}  // namespace

QuantizerPtr make_tqt(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Tqt>(spec, config);
}

}  // namespace sparsebit::quant
