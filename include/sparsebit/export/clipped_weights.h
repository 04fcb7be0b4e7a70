#pragma once

#include "sparsebit/quant/quant_model.h"

#include <memory>

namespace sparsebit::exports {

/// A copy of the model's graph, quantizers included, with float weights that a vendor's tool rounds
/// to the same integers: clipped to [(qmin - z) s, (qmax - z) s] per channel, but not rounded. A
/// weight that is not rounded to the nearest integer (gptq, adaround) is stored dequantized
/// instead. Biases have their corrections. The model must be calibrated.
std::shared_ptr<fx::GraphModule> with_clipped_weights(const quant::QuantModel& model);

}  // namespace sparsebit::exports
