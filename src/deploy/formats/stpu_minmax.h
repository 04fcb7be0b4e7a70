#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <map>
#include <string>

namespace sparsebit::deploy {

/// STPU: `{min, max}` of each activation, `<node>_weights` `{min, max}` and `<node>_bias`
/// `{alpha, zero_point}` of each layer. A convolution has the range of the relu it is fused with,
/// inputs of a Concat have that of its output, and the output of a Sigmoid has -1 to 1.
std::vector<DeployFile> write_stpu_minmax(const DeployModel& model);

struct StpuRanges {
  struct MinMax {
    double min = 0, max = 0;
  };
  std::map<std::string, MinMax> tensors;  ///< weights as `<node>_weights`
  std::map<std::string, double> biases;   ///< their scale, by `<node>_bias`
};
StpuRanges read_stpu_minmax(const std::string& content);

}  // namespace sparsebit::deploy
