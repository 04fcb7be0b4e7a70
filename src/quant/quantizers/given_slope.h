#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace sparsebit::quant {

class GivenSlope : public torch::autograd::Function<GivenSlope> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& /*x*/,
                            const at::Tensor& result, const at::Tensor& slope) {
    context->save_for_backward({slope});
    return result.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& dy) {
    const at::Tensor slope = context->get_saved_variables().front();
    return {dy[0] * slope.to(dy[0].scalar_type()), at::Tensor(), at::Tensor()};
  }
};

/// Whether the gradient of x will be computed.
inline bool needs_slope(const at::Tensor& x) {
  return x.requires_grad() && at::GradMode::is_enabled();
}

/// Returns `result`, which was computed from x without gradients, with `slope` as its gradient for
/// x.
inline at::Tensor with_slope(const at::Tensor& x, const at::Tensor& result,
                             const at::Tensor& slope) {
  return needs_slope(x) ? GivenSlope::apply(x, result, slope) : result;
}

}  // namespace sparsebit::quant
