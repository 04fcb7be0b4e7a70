#include "fx/ops/module_state.h"

#include <ATen/ATen.h>

#include <cmath>

namespace sparsebit::fx {

at::Tensor uniform_parameter(at::IntArrayRef shape, double bound, const MaybeGenerator& generator) {
  at::Tensor parameter = at::empty(shape);
  // The bound of an empty tensor may be infinite, which uniform_ refuses.
  if (parameter.numel() > 0) parameter.uniform_(-bound, bound, generator);
  return parameter.requires_grad_();
}

at::Tensor constant_parameter(at::IntArrayRef shape, double value) {
  return at::full(shape, value).requires_grad_();
}

TensorList weight_and_bias(at::IntArrayRef shape, std::optional<int64_t> bias_size,
                           const MaybeGenerator& generator) {
  const auto fan_in = static_cast<double>(c10::multiply_integers(shape.slice(1)));
  // Written in torch's steps: 1/sqrt(fan_in) directly differs in the last bit.
  const double gain = std::sqrt(2.0 / (1.0 + 5.0));
  const double deviation = gain / std::sqrt(fan_in);
  TensorList state = {
      {"weight", uniform_parameter(shape, std::sqrt(3.0) * deviation, generator)},
      {"bias", {}},
  };
  if (bias_size) {
    const double bound = fan_in > 0 ? 1.0 / std::sqrt(fan_in) : 0.0;
    state[1].second = uniform_parameter({*bias_size}, bound, generator);
  }
  return state;
}

TensorList scale_and_shift(at::IntArrayRef shape, bool affine) {
  if (!affine) return {{"weight", {}}, {"bias", {}}};
  return {{"weight", constant_parameter(shape, 1.0)}, {"bias", constant_parameter(shape, 0.0)}};
}

}  // namespace sparsebit::fx
