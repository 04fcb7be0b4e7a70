#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/graph_module.h"

#include <functional>

namespace sparsebit::quant {

/// Rewrites that a platform may ask for before quantizers are placed, by the name in its
/// `lowering`.
Registry<std::function<void(fx::GraphModule&)>>& lowerings();

}  // namespace sparsebit::quant
