#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <map>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// HiSilicon's NNIE: `{"nnie": {"gfpq_param_dict": {node: [largest of each quantized input]}}}`.
/// Operators for which NNIE needs no range, and grouped convolutions, are omitted; Resize and
/// Upsample have a second entry `<node>_permute_<k>`.
std::vector<DeployFile> write_nnie(const DeployModel& model);

std::map<std::string, std::vector<double>> read_nnie(const std::string& content);

}  // namespace sparsebit::deploy
