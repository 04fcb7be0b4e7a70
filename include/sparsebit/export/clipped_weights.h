#pragma once

#include "sparsebit/quant/quant_model.h"

#include <memory>

namespace sparsebit::exports {

/// A copy of the model's graph, its quantizers included, whose quantized weights are float numbers
/// that a tool rounds to the same integers: clipped to [(qmin - z) s, (qmax - z) s] of their
/// channel, not rounded. Where a method rounds otherwise than to the nearest (adaround), the weight
/// is what its integer stands for. The model is calibrated.
std::shared_ptr<fx::GraphModule> with_clipped_weights(const quant::QuantModel& model);

}  // namespace sparsebit::exports
