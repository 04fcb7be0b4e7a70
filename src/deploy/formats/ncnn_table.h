#pragma once

#include "sparsebit/deploy/artefact_format.h"

#include <map>
#include <string>
#include <vector>

namespace sparsebit::deploy {

/// ncnn's int8 calibration table, as its ncnn2table writes it: `<layer>_param_0 s s ...` with
/// 1 / scale of each output channel of the weight (of each group for grouped convolutions), and
/// `<layer> s` with 1 / scale of the layer's input. ncnn's integers are -127 to 127.
std::vector<DeployFile> write_ncnn_table(const DeployModel& model);

struct NcnnTable {
  std::map<std::string, std::vector<float>> weights;  ///< by layer
  std::map<std::string, float> inputs;
};
NcnnTable read_ncnn_table(const std::string& content);

}  // namespace sparsebit::deploy
