#pragma once

#include "quant/calibration/value_store.h"

#include "sparsebit/fx/executor.h"
#include "sparsebit/quant/calibration/calibration_options.h"
#include "sparsebit/quant/quantizers/quant_point.h"

#include <vector>

namespace sparsebit::quant {

/// Scales of every point, one after the other in graph order, from what the model gives when the
/// points before are quantized as the options say. All are off afterwards.
/// @param samples  ids of the inputs of each; they are dropped on the way.
void calibrate_in_sequence(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                           ValueStore& store, const std::vector<std::vector<int64_t>>& samples,
                           const CalcOptions& options, const fx::ExecutorFactory& executors);

}  // namespace sparsebit::quant
