#pragma once

#include "cli/common_options.h"
#include "cli/data_options.h"
#include "cli/model_source.h"

#include "sparsebit/quant/quant_model.h"

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sparsebit::cli {

/// Options of commands that calibrate a model.
struct CalibrationOptions {
  std::string model;          ///< as written on the command line
  std::string config = {};    ///< a YAML file, or empty: the platform's own
  std::string platform = {};  ///< what the result is for; empty: what the config says
  std::string custom = {};    ///< a YAML file of changes to what the platform does by itself
  std::vector<std::string> exclude = {};  ///< patterns of layers that stay float
  DataOptions data;
  bool requantize = false;  ///< quantization that the model has is removed first
  bool sequential = false;  ///< ranges are those that quantized layers give
  bool json = false;
  CommonOptions common;
};

/// The YAML that counts, and what it says. Throws InvalidArgument when --platform says otherwise.
struct ChosenConfig {
  std::string text;
  quant::QConfig config;
};
ChosenConfig chosen_config(const CalibrationOptions& options);

/// Declares the model, -c, --platform, --custom, --exclude, the options of data, --random-data,
/// --requantize, --sequential, --json and those every command has.
void add_calibration_options(CLI::App& command, CalibrationOptions& options);

/// A float model, how it is to be quantized, and samples for it.
struct ModelWithData {
  quant::QConfig config;
  LoadedModel model;
  PreparedData data;
  /// What looked wrong while it was calibrated, and when the data was opened.
  std::vector<std::string> warnings = {};
};
ModelWithData load_with_data(const CalibrationOptions& options);

/// Whether a model was calibrated with random numbers that matter: there are activations with
/// ranges. Such a model is not for deployment.
bool has_random_ranges(const quant::QuantModel& model, const PreparedData& data);
/// What is said of it.
inline constexpr const char* kNotForDeployment =
    "NOT FOR DEPLOYMENT: calibrated with random numbers";

/// Puts quantizers into the model and calibrates it with all of the data; tunes batch norms if the
/// config says so. Warns about patterns of the config that match nothing, and about inputs and
/// activations that look wrong. The float model is given up.
std::unique_ptr<quant::QuantModel> calibrated_model(const CalibrationOptions& options,
                                                    ModelWithData& given);

}  // namespace sparsebit::cli
