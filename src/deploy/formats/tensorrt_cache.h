#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <map>
#include <string>

namespace sparsebit::deploy {

/// TensorRT's calibration cache: a line with version and calibrator, then `tensor: 3c010a14` for
/// each activation, the scale as the hexadecimal bits of a float32.
std::vector<DeployFile> write_tensorrt_cache(const DeployModel& model);

struct TensorRtCache {
  std::string header;
  std::map<std::string, float> scales;  ///< by tensor
};
TensorRtCache read_tensorrt_cache(const std::string& content);

}  // namespace sparsebit::deploy
