#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/graph_module.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/quantizers/quant_point.h"

#include <functional>
#include <vector>

namespace sparsebit::quant {

using ScaleFit = std::function<void(fx::GraphModule&, const std::vector<QuantPoint>&)>;

/// Adjustments of scales to a target after calibration, by the platform's `scale_fit`.
Registry<ScaleFit>& scale_fits();

/// Makes the scales of int32 biases follow input scale * weight scale. Biases of layers with float
/// inputs or weights are switched off.
void set_bias_scales(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                     const platforms::Platform& platform);

}  // namespace sparsebit::quant
