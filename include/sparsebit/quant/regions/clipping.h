#pragma once

#include "sparsebit/fx/resolve.h"
#include "sparsebit/quant/quantizers/quantizer.h"

#include <limits>
#include <optional>

namespace sparsebit::quant {

/// What an operator cuts its input to.
struct ClipBounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool operator==(const ClipBounds&) const = default;
};

/// Of relu, relu6, clamp and hardtanh whose bounds are numbers. Nothing for others.
std::optional<ClipBounds> clip_bounds_of(const fx::OperatorCall& call);

/// Whether a quantizer of one scale, which is calibrated, cuts off the same as these bounds.
bool rounding_clips(const ClipBounds& bounds, const Quantizer& quantizer);

}  // namespace sparsebit::quant
