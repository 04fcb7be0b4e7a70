#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <map>
#include <string>

namespace sparsebit::deploy {

/// Tengine (uint8): lines `tensor scale zero_point` of activations. A convolution followed
/// by a relu has the relu's numbers, since Tengine fuses them.
std::vector<DeployFile> write_tengine_scale(const DeployModel& model);

struct TengineRange {
  float scale = 0;
  int zero_point = 0;
};
std::map<std::string, TengineRange> read_tengine_scale(const std::string& content);

}  // namespace sparsebit::deploy
