#include "deploy/format_limits.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

#include <map>

namespace sparsebit::deploy {
namespace {

bool are_powers_of_two(const at::Tensor& scale) {
  const at::Tensor mantissa = std::get<0>(at::frexp(scale));
  return at::equal(mantissa, at::full_like(mantissa, 0.5));
}

/// The limit that a range exceeds; empty if it is within all of them.
std::string broken_rule(const TensorRange& range, const FormatLimits& limits) {
  const bool is_weight = range.kind == TensorKind::Weight;
  if (!range.uniform && !limits.logarithmic)
    return "expected uniform steps, found logarithmic ones";
  if (range.scale.dim() > 1) return "expected one scale per tensor or channel, found one per group";
  if (range.is_per_channel() && !(limits.channels && is_weight))
    return "expected one scale per tensor, found one per channel";
  if (!limits.zero_points && !range.is_symmetric())
    return c10::str("expected signed integers without zero point, found ", range.qmin, " to ",
                    range.qmax, " (affine)");
  if (range.bits < limits.least_bits || range.bits > limits.most_bits)
    return c10::str("expected ", limits.least_bits,
                    limits.least_bits == limits.most_bits ? "" : c10::str(" to ", limits.most_bits),
                    " bits, found ", range.bits);
  if (limits.powers_of_two && !are_powers_of_two(range.scale))
    return "expected scales that are powers of two (QUANTIZER.SCALE_BITS: 1)";
  return "";
}

}  // namespace

std::vector<TensorRange> ranges_within(const DeployModel& model, const FormatLimits& limits) {
  std::vector<TensorRange> found;
  std::map<std::string, size_t> seen;  // index into `found`
  for (const TensorRange& range : model.ranges()) {
    if (range.kind == TensorKind::Bias) continue;
    if (range.kind == TensorKind::Weight && !limits.weights) continue;
    const std::string rule = broken_rule(range, limits);
    SPARSEBIT_CHECK(rule.empty(), Unsupported, "format '", limits.format,
                    "': ", to_string(range.kind), " '", range.tensor, "': ", rule);
    const auto [it, is_new] = seen.emplace(range.tensor, found.size());
    SPARSEBIT_CHECK(is_new, Unsupported, "format '", limits.format, "': tensor '", range.tensor,
                    "' is quantized differently for different consumers; the format has one range ",
                    "per tensor");
    found.push_back(range);
  }
  return found;
}

}  // namespace sparsebit::deploy
