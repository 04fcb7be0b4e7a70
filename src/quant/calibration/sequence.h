#pragma once

#include "quant/calibration/value_store.h"

#include "sparsebit/fx/executor.h"
#include "sparsebit/quant/calibration/calibration_options.h"
#include "sparsebit/quant/quantizers/quant_point.h"

#include <vector>

namespace sparsebit::quant {

/// Calibrates the points one by one in graph order, on the values that the model computes when the
/// points before are quantized according to the options. All quantizers are off afterwards.
/// @param samples  ids of the inputs of each sample; they stay in the store.
void calibrate_in_sequence(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                           ValueStore& store, const std::vector<std::vector<int64_t>>& samples,
                           const CalcOptions& options, const fx::ExecutorFactory& executors);

}  // namespace sparsebit::quant
