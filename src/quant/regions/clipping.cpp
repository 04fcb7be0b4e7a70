#include "sparsebit/quant/regions/clipping.h"

#include <cmath>

namespace sparsebit::quant {

std::optional<ClipBounds> clip_bounds_of(const fx::OperatorCall& call) {
  const std::string& name = call.op->name;
  if (name == "relu") return ClipBounds{.low = 0};
  if (name == "relu6") return ClipBounds{.low = 0, .high = 6};
  if (name != "clamp" && name != "hardtanh") return std::nullopt;
  const bool is_clamp = name == "clamp";
  ClipBounds bounds;
  for (const bool is_low : {true, false}) {
    const fx::Value& bound = call.args[is_clamp ? (is_low ? "min" : "max")  //
                                                : (is_low ? "min_val" : "max_val")];
    if (bound.is_none()) continue;
    if (!bound.is_number()) return std::nullopt;
    (is_low ? bounds.low : bounds.high) = bound.to_double();
  }
  return bounds;
}

bool rounding_clips(const ClipBounds& bounds, const Quantizer& quantizer) {
  if (!quantizer.has_uniform_steps()) return false;
  const QParams found = quantizer.final_qparams();
  if (found.scale.dim() > 0 || quantizer.squeezes_by()) return false;
  const double scale = found.scale.item<double>(), zero = found.zero_point.item<double>();
  const auto integer_of = [&](double number) { return std::nearbyint(number / scale) + zero; };
  return integer_of(bounds.low) <= static_cast<double>(quantizer.spec().qmin()) &&
         integer_of(bounds.high) >= static_cast<double>(quantizer.spec().qmax());
}

}  // namespace sparsebit::quant
