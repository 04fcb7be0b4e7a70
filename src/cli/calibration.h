#pragma once

#include "cli/data_options.h"

#include "sparsebit/quant/quant_model.h"

#include <memory>
#include <string>

namespace sparsebit::cli {

/// What a user asks for who wants a model calibrated.
struct CalibrationRequest {
  std::string model;   ///< as written on the command line
  std::string config;  ///< a YAML file
  int64_t batch_size = 8;
  uint64_t seed = 0;
  bool quiet = false;  ///< no progress
};

/// Loads the model, puts quantizers into it and calibrates it with all of the data. Warns about
/// patterns of the config that match nothing.
std::unique_ptr<quant::QuantModel> calibrated_model(const CalibrationRequest& request,
                                                    const PreparedData& data);

}  // namespace sparsebit::cli
