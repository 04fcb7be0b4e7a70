#include "quant/quantizers/all_quantizers.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// Rounds a bias to what is added to sums of integer products: int32 of the scale of input times
/// weight, which whoever knows both sets.
class Bias : public CloneableQuantizer<Bias> {
 public:
  Bias(const QuantSpec& spec, const TensorConfig& config)
      : CloneableQuantizer("quant.Bias", spec, config) {}

 private:
  QParams find_qparams() override {
    throw Error(ErrorKind::Internal, "the scale of a bias follows from its layer");
  }

  /// In steps that have no place in the floats of fake_quant().
  at::Tensor simulate(const at::Tensor& x) override {
    const at::Tensor scale = qparams().scale;
    const at::Tensor steps = at::round(x.to(at::kDouble) / scale).clamp(-2147483648., 2147483647.);
    return steps.to(at::kFloat) * scale;
  }
};

}  // namespace

QuantizerPtr make_bias(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Bias>(spec, config);
}

}  // namespace sparsebit::quant
