#include "sparsebit/quant/placement/placement.h"

namespace sparsebit::quant {

Placement place(fx::GraphModule& module, const QConfig& config) {
  const bool regions =
      config.platform->placement.kind == platforms::PlacementPolicy::Kind::IntegerRegions;
  return regions ? place_in_regions(module, config) : place_at_operators(module, config);
}

}  // namespace sparsebit::quant
