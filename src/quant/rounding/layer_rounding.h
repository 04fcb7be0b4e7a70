#pragma once

#include "quant/rounding/layer_matrix.h"
#include "quant/rounding/moments.h"

#include "sparsebit/quant/quantizers/quantizer.h"

#include <ATen/core/Tensor.h>

namespace sparsebit::quant {

/// The integers of a weight that make the outputs of its layer closest to those of the float model:
/// GPTQ, with the targets of the float model (as GPTAQ and Qronos).
/// @param bias_follows  the mean of each output is corrected later, so that only deviations from
/// the
///                      mean count.
at::Tensor rounded_to_moments(const at::Tensor& weight, const LayerMatrix& matrix,
                              const Moments& moments, const Quantizer& quantizer,
                              bool bias_follows);

/// The mean of each output channel of the float layer minus that of the quantized layer.
at::Tensor mean_error(const at::Tensor& weight, const LayerMatrix& matrix, const Moments& moments,
                      const Quantizer& quantizer);

}  // namespace sparsebit::quant
