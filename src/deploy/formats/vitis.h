#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <map>
#include <string>

namespace sparsebit::deploy {

/// Vitis AI: `{"vitis": {tensor: {scale, fix_pos}}}` of activations and weights. Scales are powers
/// of two, 2^-fix_pos.
std::vector<DeployFile> write_vitis(const DeployModel& model);

struct VitisRange {
  double scale = 0;
  int fix_pos = 0;
};
std::map<std::string, VitisRange> read_vitis(const std::string& content);

}  // namespace sparsebit::deploy
