#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/graph_module.h"
#include "sparsebit/platforms/platform.h"
#include "sparsebit/quant/quantizers/quant_point.h"

#include <functional>
#include <vector>

namespace sparsebit::quant {

using ScaleFit = std::function<void(fx::GraphModule&, const std::vector<QuantPoint>&)>;

/// How scales are adjusted to a target after calibration, by the name in the platform's
/// `scale_fit`.
Registry<ScaleFit>& scale_fits();

/// From now on the scales of biases that are stored as int32 are input scale times weight scale. A
/// bias of a layer that reads floats is switched off.
void set_bias_scales(fx::GraphModule& module, const std::vector<QuantPoint>& points,
                     const platforms::Platform& platform);

}  // namespace sparsebit::quant
