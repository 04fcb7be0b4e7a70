#pragma once

#include "sparsebit/deploy/deploy_model.h"

#include <string>
#include <vector>

namespace sparsebit::deploy {

/// The kinds of quantization that a format can represent.
struct FormatLimits {
  std::string format;          ///< its name
  bool weights = true;         ///< whether the file has ranges of weights
  bool channels = false;       ///< per-channel scales of weights
  bool zero_points = false;    ///< zero points and unsigned integers
  bool powers_of_two = false;  ///< scales must be powers of two
  bool logarithmic = false;    ///< non-uniform steps; the file has ranges only
  int least_bits = 8, most_bits = 8;
};

/// The activations, and the weights if the format has them, one range for each tensor. Throws
/// Unsupported, naming the format, the tensor and the limit, for a range beyond the limits.
std::vector<TensorRange> ranges_within(const DeployModel& model, const FormatLimits& limits);

}  // namespace sparsebit::deploy
