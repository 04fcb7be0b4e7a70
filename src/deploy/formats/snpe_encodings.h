#pragma once

#include "deploy/formats/encodings.h"

#include "sparsebit/deploy/artefact_format.h"

namespace sparsebit::deploy {

/// SNPE's quantization overrides: `bitwidth`, `min` and `max` of activations and weights.
std::vector<DeployFile> write_snpe_encodings(const DeployModel& model);

/// Scale, offset and symmetry are not in the file.
Encodings read_snpe_encodings(const std::string& content);

}  // namespace sparsebit::deploy
