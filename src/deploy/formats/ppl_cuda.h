#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <map>
#include <string>

namespace sparsebit::deploy {

/// OpenPPL on CUDA: lines `tensor: largest`, the largest magnitude of each activation.
std::vector<DeployFile> write_ppl_cuda(const DeployModel& model);

std::map<std::string, double> read_ppl_cuda(const std::string& content);

}  // namespace sparsebit::deploy
