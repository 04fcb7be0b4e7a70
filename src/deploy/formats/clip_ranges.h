#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <map>
#include <string>

namespace sparsebit::deploy {

/// Dynamic ranges for TensorRT: `{"tensorrt": {"blob_range": {tensor: v}}}` means -v to v.
/// TensorRT divides v by 127, so v is 127 scales, even if the lowest integer is -128.
std::vector<DeployFile> write_clip_ranges(const DeployModel& model);

using ClipRanges = std::map<std::string, double>;  ///< by tensor
ClipRanges read_clip_ranges(const std::string& content);

}  // namespace sparsebit::deploy
