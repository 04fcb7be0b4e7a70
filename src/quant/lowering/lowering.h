#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/graph_module.h"

#include <functional>

namespace sparsebit::quant {

/// Graph rewrites that a platform's `lowering` requests before quantizers are placed, by name.
Registry<std::function<void(fx::GraphModule&)>>& lowerings();

}  // namespace sparsebit::quant
