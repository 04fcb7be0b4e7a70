#include "quant/quantizers/bias.h"

#include "quant/quantizers/all_quantizers.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {

void Bias::follow(std::shared_ptr<const Quantizer> input, std::shared_ptr<const Quantizer> weight) {
  input_ = std::move(input);
  weight_ = std::move(weight);
  set_qparams(qparams());
}

QParams Bias::qparams() const {
  if (!input_) return Quantizer::qparams();
  const at::Tensor scale = input_->final_qparams().scale * weight_->final_qparams().scale;
  return {scale, at::zeros_like(scale)};
}

QParams Bias::find_qparams() {
  throw Error(ErrorKind::Internal, "the scale of a bias follows from its layer's input and weight");
}

/// In double: int32 values exceed the precision of the float32 arithmetic of fake_quant().
at::Tensor Bias::simulate(const at::Tensor& x) const {
  const at::Tensor scale = qparams().scale;
  const at::Tensor steps = at::round(x.to(at::kDouble) / scale).clamp(-2147483648., 2147483647.);
  return steps.to(at::kFloat) * scale;
}

QuantizerPtr make_bias(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Bias>(spec, config);
}

}  // namespace sparsebit::quant
