#pragma once

#include "sparsebit/deploy/deploy_model.h"

#include <string>
#include <vector>

namespace sparsebit::deploy {

/// What a format can say about a tensor.
struct FormatLimits {
  std::string format;          ///< its name
  bool weights = true;         ///< whether weights have ranges in the file at all
  bool channels = false;       ///< scales per channel, of weights
  bool zero_points = false;    ///< or unsigned integers
  bool powers_of_two = false;  ///< no other scales
  bool logarithmic = false;    ///< only ranges count, whatever the steps
  int least_bits = 8, most_bits = 8;
};

/// The activations, and the weights if the format has them, one range for each tensor. Throws
/// Unsupported, naming the format, the tensor and the rule, for a range beyond the limits.
std::vector<TensorRange> ranges_within(const DeployModel& model, const FormatLimits& limits);

}  // namespace sparsebit::deploy
