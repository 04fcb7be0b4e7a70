#include "easy/calibration.h"

#include "easy/activation_check.h"
#include "easy/model_facts.h"
#include "easy/model_inputs.h"
#include "easy/model_summary.h"
#include "easy/usage_error.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/how_many.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/mapped_file.h"
#include "sparsebit/core/progress.h"
#include "sparsebit/core/yaml.h"
#include "sparsebit/data/input_check.h"
#include "sparsebit/deploy/prepare.h"
#include "sparsebit/quant/quantized_graph.h"
#include "sparsebit/report/node_names.h"
#include "sparsebit/report/sentences.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sparsebit::easy {
namespace {

/// Layers that learn from samples see the outputs of the quantized layers before them; with
/// --sequential, ranges are found on these outputs as well.
void finish_calibration(quant::QuantModel& model, const CalibrationOptions& options) {
  std::unique_ptr<Progress> progress;
  const auto advance = [&](int64_t total) {
    if (!progress)
      progress = std::make_unique<Progress>("adjusting layers", total,
                                            shown_progress(options.common, options.json));
    progress->advance();
  };
  model.calc_qparams({.asym = true,
                      .w_quant = true,
                      .a_quant = true,
                      .quantized_ranges = options.sequential,
                      .on_node = advance});
  if (progress) progress->finish();
}

void calibrate(quant::QuantModel& model, const PreparedData& data, data::InputCheck& check,
               const CalibrationOptions& options) {
  Progress progress("calibrating", data.size(), shown_progress(options.common, options.json));
  model.prepare_calibration({.keep_samples = options.sequential});
  const int64_t step = data.step(model.fixed_batch());
  for (int64_t start = 0; start < data.size(); start += step) {
    const PreparedData::Batch batch = data.batch(start, step);
    check.add(batch);
    with_context([&] { model.forward(values_of(batch.inputs)); },
                 [&] {
                   return fmt::format("while calibrating with samples {} to {}", start,
                                      start + batch.size - 1);
                 });
    progress.advance(batch.size);
  }
  progress.finish();
  finish_calibration(model, options);
}

/// Uses batches of nearly equal size, up to 32: batch statistics depend on the batch size, and the
/// written file must not depend on --batch-size.
void tune_batch_norms(quant::QuantModel& model, const PreparedData& data,
                      const CalibrationOptions& options) {
  const int64_t batches = (data.size() + 31) / 32;
  Progress progress("tuning batch norms", data.size(),
                    shown_progress(options.common, options.json));
  const auto unfolded = model.batchnorm_tuning([&] {
    for (int64_t i = 0; i < batches; ++i) {  // equal sizes: every batch counts the same in the mean
      const int64_t start = data.size() * i / batches, end = data.size() * (i + 1) / batches;
      const PreparedData::Batch batch = data.batch(start, end - start);
      model.forward(values_of(batch.inputs));
      progress.advance(batch.size);
    }
  });
  progress.finish();
  const report::NodeNames names(model.module().graph());
  for (const quant::Decision& decision : unfolded)
    log_warning("the batch norm '{}' was tuned but not folded: {}", names.shown(decision.node),
                report::sentence(names.shown(decision), model.platform()));
}

bool has_batch_norms(quant::QuantModel& model) {
  const auto modules = model.module().named_modules();
  return std::any_of(modules.begin(), modules.end(), [](const auto& entry) {
    return entry.second->type().starts_with("torch.nn.BatchNorm");
  });
}

/// Warns about unused patterns and quantizers that need training, before calibration starts.
void warn_about(const quant::QuantModel& model) {
  for (const std::string& pattern : model.unused_patterns()) log_warning("{}", pattern);
  std::set<std::string> trained;
  for (const quant::QuantPoint& point : model.points()) {
    const std::string& type = point.quantizer->config().quantizer.type;
    if (point.quantizer->needs_training()) trained.insert(type);
  }
  for (const std::string& type : trained)
    log_warning("quantizer '{}' needs training (QAT); this command only calibrates it", type);
}

/// Refuses a model that is already quantized, or removes its quantization with --requantize.
void check_is_float(fx::GraphModule& module, const CalibrationOptions& options) {
  const quant::QuantizedParts parts = quant::quantized_parts(module);
  if (parts.empty()) {
    if (options.requantize)
      log_warning("--requantize does nothing: {} is not quantized", options.model);
    return;
  }
  const std::string found =
      !parts.operators.empty() ? fmt::format("{}", fmt::join(parts.operators, ", "))
      : parts.activations > 0  ? how_many(parts.activations, "QuantizeLinear node")
                               : how_many(parts.weights, "integer weight");
  const char* advice = parts.operators.empty() ? "quantize the original float model, or remove the "
                                                 "quantization with --requantize"
                                               : "quantize the original float model";
  SPARSEBIT_CHECK(options.requantize && parts.operators.empty(), InvalidArgument, options.model,
                  ": already quantized (", found, "); ", advice);
  quant::remove_quantization(module);
}

ChosenConfig config_of_platform(const CalibrationOptions& options) {
  if (options.config.empty()) {
    const auto platform =
        platforms::find_platform(options.platform.empty() ? "onnxruntime" : options.platform);
    return {platform->config, quant::default_qconfig(platform)};
  }
  const platforms::PlatformPtr platform =
      options.platform.empty() ? nullptr : platforms::find_platform(options.platform);
  const MappedFile file(options.config);
  return {std::string(file.bytes()),
          quant::parse_qconfig(parse_yaml(file.bytes(), options.config), platform)};
}

}  // namespace

ChosenConfig chosen_config(const CalibrationOptions& options) {
  ChosenConfig chosen = config_of_platform(options);
  chosen.config.selection.excluded_layers = options.exclude;
  for (const std::string& pattern : options.exclude) chosen.text += "# excluded: " + pattern + "\n";
  if (options.custom.empty()) return chosen;
  const MappedFile file(options.custom);
  const deploy::CustomConfig custom =
      deploy::parse_custom_config(parse_yaml(file.bytes(), options.custom));
  const bool traces = !custom.trace.preserve.empty() || !custom.trace.concrete_args.empty() ||
                      !custom.leaf_modules.empty();
  SPARSEBIT_CHECK(
      !traces, InvalidArgument, options.custom,
      ": preserve_attr, concrete_args and leaf_module work only for models written in C++, "
      "with deploy::prepare_by_platform()");
  chosen.config = deploy::customized(chosen.config, custom);
  chosen.text += "# changed by\n" + std::string(file.bytes());
  return chosen;
}

ModelWithData load_with_data(const CalibrationOptions& options) {
  // Errors of the config are reported before the model is loaded.
  quant::QConfig config = chosen_config(options).config;
  if (options.data.data.empty() && !options.data.random)
    throw UsageError("--data is missing: give calibration samples, or --random-data");
  LoadedModel model = load_with_shapes(options.model, options.data.shapes, options.common.seed);
  check_is_float(*model.module, options);
  PreparedData data(options.data, input_specs(model), options.model, options.common.seed, {},
                    facts_of(model));
  std::vector<std::string> warnings = data.warnings();
  return {std::move(config), std::move(model), std::move(data), std::move(warnings)};
}

bool has_random_ranges(const quant::QuantModel& model, const PreparedData& data) {
  const auto& points = model.points();
  return data.is_random() && std::any_of(points.begin(), points.end(), [](const auto& point) {
           return !point.is_weight() && !point.is_bias() && !point.quantizer->is_off_for_good();
         });
}

std::unique_ptr<quant::QuantModel> calibrated_model(const CalibrationOptions& options,
                                                    ModelWithData& given) {
  const quant::QConfig& config = given.config;
  LoadedModel loaded = std::move(given.model);
  const PreparedData& data = given.data;
  const int64_t fixed = loaded.module->fixed_batch();
  SPARSEBIT_CHECK(!config.schedule.bn_tuning || fixed == 0, Unsupported,
                  "SCHEDULE.BN_TUNING needs a model with a dynamic batch size; it is fixed at ",
                  fixed);
  SPARSEBIT_CHECK(!config.schedule.bn_tuning || !data.is_ragged(), Unsupported,
                  "SCHEDULE.BN_TUNING needs samples of one shape; these differ in length");
  data.step(fixed);  // throws if the fixed batch size does not divide the samples
  const std::vector<at::Tensor> example = data.batch(0, std::max<int64_t>(1, fixed)).inputs;
  check_fits(*loaded.module, example, options.model);
  const auto warn = [&](const std::string& text) {
    log_warning("{}", text);
    given.warnings.push_back(text);
  };
  const bool as_stored = options.data.preprocess.empty() && data.preprocess() == io::Preprocess{};
  if (as_stored && data.has_bytes())
    warn(
        "samples are uint8 values from 0 to 255, not normalized; if the model expects normalized "
        "inputs, give --preprocess");
  auto model = std::make_unique<quant::QuantModel>(*loaded.module, config, values_of(example));
  SPARSEBIT_CHECK(!config.schedule.bn_tuning || has_batch_norms(*model), InvalidArgument,
                  options.model, ": the model has no batch norms; remove SCHEDULE.BN_TUNING");
  warn_about(*model);
  loaded = {};  // frees the memory: the quantized model has a copy
  data::InputCheck check(data.model_data());
  calibrate(*model, data, check, options);
  for (const std::string& text : check.warnings()) warn(text);
  for (const std::string& text : activation_warnings(*model, data)) warn(text);
  if (has_random_ranges(*model, data)) warn(kNotForDeployment);
  if (config.schedule.bn_tuning) tune_batch_norms(*model, data, options);
  return model;
}

}  // namespace sparsebit::easy
