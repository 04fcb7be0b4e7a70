#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <map>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// OpenPPL (W8A16): `{"ppl": {tensor: {step, zero_point, min, max, bit, type}}}` of activations and
/// weights; lists where there is a scale per channel.
std::vector<DeployFile> write_ppl(const DeployModel& model);

struct PplRange {
  std::vector<double> step, zero_point, min, max;  ///< one, or one per channel
  int bit = 0;
};
std::map<std::string, PplRange> read_ppl(const std::string& content);

}  // namespace sparsebit::deploy
