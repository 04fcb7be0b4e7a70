#pragma once

#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <limits>
#include <optional>

namespace sparsebit::quant {

/// The bounds to which an operator clips its input.
struct ClipBounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool operator==(const ClipBounds&) const = default;
};

/// The bounds of relu, relu6, and clamp and hardtanh with constant bounds; nullopt otherwise.
std::optional<ClipBounds> clip_bounds_of(const fx::OperatorCall& call);

/// Whether a calibrated per-tensor quantizer clips at these or tighter bounds.
bool rounding_clips(const ClipBounds& bounds, const Quantizer& quantizer);

}  // namespace sparsebit::quant
