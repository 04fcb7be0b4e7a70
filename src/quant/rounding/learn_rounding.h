#pragma once

#include "quant/calibration/value_store.h"

#include "sparsebit/fx/executor.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/calibration/calibration_options.h"
#include "sparsebit/quant/quantizers/quant_point.h"

#include <vector>

namespace sparsebit::quant {

/// What is to be learned, and from what.
struct LearnOptions {
  CalcOptions calc;  ///< whether layers see the outputs of the quantized layers before them
  bool correct_biases = false;
};

/// Whether any quantizer learns its rounding.
bool learns_rounding(const std::vector<QuantPoint>& points);

/// Goes through the layers in graph order and makes the output of each as close as possible to its
/// output in the float model, on samples: weights whose quantizers learn their rounding get
/// integers, and biases a correction of the mean error of each channel. All quantizers are off
/// before and afterwards.
/// @param samples  ids of the inputs of each sample; they are dropped from the store.
void learn_rounding(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                    const platforms::Platform& platform, ValueStore& store,
                    const std::vector<std::vector<int64_t>>& samples, const LearnOptions& options,
                    const fx::ExecutorFactory& executors);

}  // namespace sparsebit::quant
