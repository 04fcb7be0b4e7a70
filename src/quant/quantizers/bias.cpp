#include "sparsebit/quant/quantizers/bias.h"

#include "quant/quantizers/all_quantizers.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

constexpr const char* kCorrection = "correction";

}  // namespace

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

std::string Bias::summary() const {
  if (is_off_for_good()) return Quantizer::summary();
  const std::string type =
      is_float() ? "float" : spec().type_name() + " with input scale * weight scale";
  return has_correction() ? type + ", corrected" : type;
}

QParams Bias::find_qparams() {
  throw Error(ErrorKind::Internal, "the scale of a bias follows from its layer's input and weight");
}

void Bias::keep_float() {
  input_ = nullptr;
  weight_ = nullptr;
  set_qparams({at::ones({}), at::zeros({})});
}

void Bias::set_correction(const at::Tensor& correction) {
  add_buffer(kCorrection, correction.detach().to(at::kFloat).clone());
}

void Bias::remove_correction() { remove(kCorrection); }

bool Bias::has_correction() const { return find_tensor(kCorrection) != nullptr; }

at::Tensor Bias::corrected(const at::Tensor& bias) const {
  const at::Tensor* correction = find_tensor(kCorrection);
  return correction ? bias + correction->to(bias.scalar_type()) : bias;
}

/// In double: int32 values exceed the precision of the float32 arithmetic of fake_quant().
at::Tensor Bias::simulate(const at::Tensor& x) const {
  if (is_float()) return corrected(x);
  const at::Tensor scale = qparams().scale;
  const at::Tensor steps =
      at::round(corrected(x).to(at::kDouble) / scale).clamp(-2147483648., 2147483647.);
  return steps.to(at::kFloat) * scale;
}

bool stays_float(const Quantizer& quantizer) {
  const auto* bias = dynamic_cast<const Bias*>(&quantizer);
  return quantizer.is_off_for_good() || (bias && bias->is_float());
}

QuantizerPtr make_bias(const QuantSpec& spec, const TensorConfig& config) {
  return std::make_shared<Bias>(spec, config);
}

}  // namespace sparsebit::quant
