#pragma once

#include "deploy/formats/encodings.h"

#include "sparsebit/deploy/artefact_format.h"

namespace sparsebit::deploy {

/// QNN's quantization overrides, as AIMET writes them (version 0.6.1): SNPE's with `dtype`,
/// `is_symmetric` ("True" or "False"), `scale` and `offset`.
std::vector<DeployFile> write_qnn_encodings(const DeployModel& model);

Encodings read_qnn_encodings(const std::string& content);

}  // namespace sparsebit::deploy
