#pragma once

#include "easy/common_options.h"
#include "easy/model_source.h"
#include "easy/prepared_data.h"

#include "sparsebit/quant/quant_model.h"

#include <memory>
#include <string>
#include <vector>

namespace sparsebit::easy {

/// How a model is calibrated; named like the options of the command.
struct CalibrationOptions {
  std::string model;                      ///< as written on the command line
  std::string config = {};                ///< a YAML file; empty: the platform's default config
  std::string platform = {};              ///< name or YAML file; empty: BACKEND of the config
  std::string custom = {};                ///< a YAML file of changes to the platform's quantization
  std::vector<std::string> exclude = {};  ///< patterns of layers that stay float
  DataOptions data;
  bool requantize = false;  ///< remove the model's own quantization first
  bool sequential = false;  ///< calibrate with all previous layers quantized
  bool json = false;
  CommonOptions common;
};

/// The config in use, as YAML text and parsed. Throws InvalidArgument when --platform contradicts
/// it.
struct ChosenConfig {
  std::string text;
  quant::QConfig config;
};
ChosenConfig chosen_config(const CalibrationOptions& options);

/// A float model, its quantization config, and its calibration data.
struct ModelWithData {
  quant::QConfig config;
  LoadedModel model;
  PreparedData data;
  /// Warnings from opening the data and from calibration.
  std::vector<std::string> warnings = {};
};
ModelWithData load_with_data(const CalibrationOptions& options);

/// Whether activation ranges were calibrated with random numbers. Such a model is not for
/// deployment.
bool has_random_ranges(const quant::QuantModel& model, const PreparedData& data);
/// The warning about such a model.
inline constexpr const char* kNotForDeployment =
    "NOT FOR DEPLOYMENT: calibrated with random numbers";

/// Inserts quantizers into the model and calibrates it with all of the data; tunes batch norms if
/// the config says so. Warns about patterns of the config that match nothing, and about suspicious
/// inputs and activations. Releases the float model in `given`.
std::unique_ptr<quant::QuantModel> calibrated_model(const CalibrationOptions& options,
                                                    ModelWithData& given);

}  // namespace sparsebit::easy
