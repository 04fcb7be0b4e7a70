#include "cli/calibration.h"

#include "cli/model_source.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/progress.h"

#include <ATen/ATen.h>

namespace sparsebit::cli {
namespace {

void calibrate(quant::QuantModel& model, const PreparedData& data,
               const CalibrationRequest& request) {
  ProgressOptions shown;
  if (request.quiet) shown.style = ProgressOptions::Style::Quiet;
  Progress progress("calibrating", data.size(), shown);
  model.prepare_calibration();
  for (int64_t start = 0; start < data.size(); start += request.batch_size) {
    const at::Tensor batch = data.batch(start, request.batch_size);
    model.forward({batch});
    progress.advance(batch.size(0));
  }
  model.calc_qparams();
  progress.finish();
}

}  // namespace

std::unique_ptr<quant::QuantModel> calibrated_model(const CalibrationRequest& request,
                                                    const PreparedData& data) {
  const quant::QConfig config = quant::parse_qconfig(std::filesystem::path(request.config));
  const LoadedModel loaded = load_model(request.model, {.seed = request.seed});
  const auto inputs = loaded.module->graph().placeholders();
  SPARSEBIT_CHECK(inputs.size() == 1, Unsupported, request.model, ": it has ", inputs.size(),
                  " inputs, and data sets have one");
  const auto& info = inputs.front()->tensor_info();
  const bool has_batch = info && !info->shape.empty() && info->shape[0] > 0;
  auto model = std::make_unique<quant::QuantModel>(
      *loaded.module, config,
      std::vector<fx::Value>{data.batch(0, has_batch ? info->shape[0] : 1)});
  for (const std::string& pattern : model->unused_patterns()) log_warning("{}", pattern);
  calibrate(*model, data, request);
  return model;
}

}  // namespace sparsebit::cli
