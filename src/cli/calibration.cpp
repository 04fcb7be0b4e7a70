#include "cli/calibration.h"

#include "cli/model_source.h"

#include "sparsebit/core/log.h"
#include "sparsebit/core/progress.h"

#include <ATen/ATen.h>
#include <CLI/CLI.hpp>

#include <algorithm>

namespace sparsebit::cli {
namespace {

void calibrate(quant::QuantModel& model, const PreparedData& data,
               const CalibrationOptions& options) {
  Progress progress("calibrating", data.size(), shown_progress(options.common, options.json));
  model.prepare_calibration();
  for (int64_t start = 0; start < data.size(); start += options.data.batch_size) {
    const at::Tensor inputs = data.batch(start, options.data.batch_size).inputs;
    model.forward({inputs});
    progress.advance(inputs.size(0));
  }
  model.calc_qparams();
  progress.finish();
}

}  // namespace

void add_calibration_options(CLI::App& command, CalibrationOptions& options) {
  command.add_option("model", options.model, kModelHelp)->required()->check(not_empty);
  command.add_option("-c,--config", options.config, "YAML file: what is quantized how")
      ->required()
      ->check(not_empty);
  add_data_options(command, options.data);
  command.add_flag("--json", options.json, "Print JSON");
  add_common_options(command, options.common);
}

std::unique_ptr<quant::QuantModel> calibrated_model(const CalibrationOptions& options,
                                                    const PreparedData& data) {
  const quant::QConfig config = quant::parse_qconfig(std::filesystem::path(options.config));
  const LoadedModel loaded = load_model(options.model, {.seed = options.common.seed});
  const int64_t at_once = std::max<int64_t>(1, fixed_batch(*loaded.module, options.model));
  auto model = std::make_unique<quant::QuantModel>(
      *loaded.module, config, std::vector<fx::Value>{data.batch(0, at_once).inputs});
  for (const std::string& pattern : model->unused_patterns()) log_warning("{}", pattern);
  calibrate(*model, data, options);
  return model;
}

}  // namespace sparsebit::cli
