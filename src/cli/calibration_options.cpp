#include "cli/calibration_options.h"

#include "cli/option_values.h"
#include "cli/platform_options.h"

#include <CLI/CLI.hpp>

namespace sparsebit::cli {

void add_calibration_options(CLI::App& command, CalibrationOptions& options) {
  command.add_option("model", options.model, kModelHelp)
      ->required()
      ->type_name(value_kind::kModel)
      ->check(not_empty);
  command
      .add_option("-c,--config", options.config,
                  "Quantization config (YAML). Default: the platform's, see `sparsebit config`")
      ->type_name(value_kind::kFile)
      ->check(not_empty);
  command
      .add_option("--platform", options.platform,
                  std::string(kPlatformHelp) +
                      ". Default: BACKEND of --config, or onnxruntime without --config")
      ->type_name(value_kind::kPlatform)
      ->check(known_platform);
  command
      .add_option("--custom", options.custom,
                  "YAML file of changes to the platform's quantization, in the keys of MQBench's "
                  "prepare_custom_config_dict")
      ->type_name(value_kind::kFile)
      ->check(not_empty);
  command
      .add_option(
          "--exclude", options.exclude,
          "Keep layers in float whose name or module path matches this pattern (repeatable)")
      ->type_name("PATTERN")
      ->check(not_empty)
      ->allow_extra_args(false);
  add_data_options(command, options.data);
  command.get_option("--data")->required(false);
  command
      .add_flag("--random-data", options.data.random,
                "Calibrate with random numbers instead of --data (not for deployment)")
      ->excludes("--data");
  command.add_flag(
      "--requantize", options.requantize,
      "Remove the quantization of an already quantized model first. Default: refuse it");
  command.add_flag("--sequential", options.sequential,
                   "Calibrate layer by layer, with all previous layers quantized (slower)");
  command.add_flag("--json", options.json, "Print JSON");
  add_common_options(command, options.common);
}

}  // namespace sparsebit::cli
