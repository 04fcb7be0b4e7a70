#pragma once

#include "sparsebit/quant/spec/tensor_config.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

namespace sparsebit::quant {

class ScaledGradient : public torch::autograd::Function<ScaledGradient> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            double factor) {
    context->saved_data["factor"] = factor;
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& dy) {
    return {dy[0] * context->saved_data["factor"].toDouble(), at::Tensor()};
  }
};

/// Returns x, with its gradient multiplied by `factor`.
inline at::Tensor with_gradient_times(const at::Tensor& x, double factor) {
  return x.requires_grad() ? ScaledGradient::apply(x, factor) : x;
}

/// The factor of LSQ for gradients of scales: 1 / sqrt(N * qmax) for N values per scale; 1 if
/// QUANTIZER.LSQ.GRAD_SCALING is off.
inline double lsq_factor(const at::Tensor& x, const at::Tensor& scale, int64_t qmax,
                         const QuantizerConfig& config) {
  if (!config.lsq_grad_scaling) return 1;
  const double per_scale = static_cast<double>(x.numel()) / static_cast<double>(scale.numel());
  return 1 / std::sqrt(std::max(per_scale, 1.) * static_cast<double>(qmax));
}

}  // namespace sparsebit::quant
