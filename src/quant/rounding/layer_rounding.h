#pragma once

#include "quant/rounding/layer_matrix.h"
#include "quant/rounding/moments.h"

#include "sparsebit/quant/quantizers/quantizer.h"

#include <ATen/core/Tensor.h>

namespace sparsebit::quant {

/// The integers of a weight with which the outputs of its layer are closest to those of the float
/// model: GPTQ, with the targets of the float model (as GPTAQ and Qronos).
/// @param bias_follows  a correction of the bias will take the mean error, so that only deviations
///                      from the mean count.
at::Tensor rounded_to_moments(const at::Tensor& weight, const LayerMatrix& matrix,
                              const Moments& moments, const Quantizer& quantizer,
                              bool bias_follows);

/// The mean of each output channel of the float layer minus that of the quantized layer.
/// @param quantized  the values of the quantized weight
at::Tensor mean_error(const at::Tensor& weight, const at::Tensor& quantized,
                      const LayerMatrix& matrix, const Moments& moments);

}  // namespace sparsebit::quant
