#pragma once

#include <ATen/core/Tensor.h>

namespace sparsebit::quant {

/// Integers that weights may become: value = (q - zero_point) * scale.
struct WeightGrid {
  at::Tensor scale;  ///< broadcasts against the weights; float64, as zero_point
  at::Tensor zero_point;
  double qmin, qmax;

  at::Tensor integers(const at::Tensor& weight) const;
  at::Tensor values(const at::Tensor& integers) const;
};

/// Adds `share` of the mean of the diagonal to the diagonal, so that the matrix is positive
/// definite also if some inputs are always 0 or there are few samples.
/// @param least  at least this much is added, for each group: [groups].
at::Tensor damped(const at::Tensor& gram, double share, const at::Tensor& least);

/// The integers for weights W such that tr (W - Q) H (W - Q)^T, the mean squared error of the
/// outputs, is small: GPTQ, as Babai's nearest plane. Input by input, each weight is rounded after
/// it has taken over the error of those rounded before, as far as it can make up for them.
/// @param weight  W: [groups, outputs, inputs], float64
/// @param gram  H: [groups, inputs, inputs], float64, positive definite
at::Tensor nearest_plane(const at::Tensor& weight, const at::Tensor& gram, const WeightGrid& grid);

/// tr (W - Q) H (W - Q)^T for each output: [groups, outputs].
at::Tensor output_errors(const at::Tensor& difference, const at::Tensor& gram);

}  // namespace sparsebit::quant
