#include "cli/calibration.h"

#include "cli/model_source.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/progress.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

namespace sparsebit::cli {
namespace {

void find_ranges_in_sequence(quant::QuantModel& model, const CalibrationOptions& options) {
  std::unique_ptr<Progress> progress;
  const auto advance = [&](int64_t total) {
    if (!progress)
      progress = std::make_unique<Progress>("in sequence", total,
                                            shown_progress(options.common, options.json));
    progress->advance();
  };
  model.calc_qparams({.asym = true,
                      .w_quant = true,
                      .a_quant = true,
                      .quantized_ranges = true,
                      .on_node = advance});
  if (progress) progress->finish();
}

void calibrate(quant::QuantModel& model, const PreparedData& data,
               const CalibrationOptions& options) {
  Progress progress("calibrating", data.size(), shown_progress(options.common, options.json));
  model.prepare_calibration({.keep_samples = options.sequential});
  const int64_t step = data.step(model.fixed_batch());
  for (int64_t start = 0; start < data.size(); start += step) {
    const at::Tensor inputs = data.batch(start, step).inputs;
    with_context([&] { model.forward({inputs}); },
                 [&] {
                   return fmt::format("while calibrating with samples {} to {} of the data", start,
                                      start + inputs.size(0) - 1);
                 });
    progress.advance(inputs.size(0));
  }
  progress.finish();
  options.sequential ? find_ranges_in_sequence(model, options) : model.calc_qparams();
}

/// Batches of about one size: statistics depend on it, and a file must not depend on --batch-size.
void tune_batch_norms(quant::QuantModel& model, const PreparedData& data,
                      const CalibrationOptions& options) {
  const int64_t batches = (data.size() + 31) / 32;
  Progress progress("tuning batch norms", data.size(),
                    shown_progress(options.common, options.json));
  const auto left = model.batchnorm_tuning([&] {
    for (int64_t i = 0; i < batches; ++i) {  // a small last one would count as much as the others
      const int64_t start = data.size() * i / batches, end = data.size() * (i + 1) / batches;
      const at::Tensor inputs = data.batch(start, end - start).inputs;
      model.forward({inputs});
      progress.advance(inputs.size(0));
    }
  });
  progress.finish();
  for (const auto& [node, reason] : left)
    log_warning("the batch norm '{}' was tuned but not folded: {}", node, reason);
}

}  // namespace

void add_calibration_options(CLI::App& command, CalibrationOptions& options) {
  command.add_option("model", options.model, kModelHelp)->required()->check(not_empty);
  command.add_option("-c,--config", options.config, "YAML file: what is quantized how")
      ->required()
      ->check(not_empty);
  add_data_options(command, options.data);
  command.add_flag("--sequential", options.sequential,
                   "Find the ranges of a layer with all layers before it quantized");
  command.add_flag("--json", options.json, "Print JSON");
  add_common_options(command, options.common);
}

std::unique_ptr<quant::QuantModel> calibrated_model(const CalibrationOptions& options,
                                                    const PreparedData& data) {
  const quant::QConfig config = quant::parse_qconfig(std::filesystem::path(options.config));
  LoadedModel loaded = load_model(options.model, {.seed = options.common.seed});
  const int64_t fixed = fixed_batch(*loaded.module, options.model);
  SPARSEBIT_CHECK(!config.schedule.bn_tuning || fixed == 0, Unsupported,
                  "batch norms cannot be tuned in a model that takes ", fixed,
                  " samples at once: leave its batch size open");
  data.step(fixed);  // throws if the data is not for it
  auto model = std::make_unique<quant::QuantModel>(
      *loaded.module, config,
      std::vector<fx::Value>{data.batch(0, std::max<int64_t>(1, fixed)).inputs});
  loaded = {};  // it was copied
  for (const std::string& pattern : model->unused_patterns()) log_warning("{}", pattern);
  calibrate(*model, data, options);
  if (config.schedule.bn_tuning) tune_batch_norms(*model, data, options);
  return model;
}

}  // namespace sparsebit::cli
