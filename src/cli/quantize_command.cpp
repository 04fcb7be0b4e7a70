#include "cli/accuracy.h"
#include "cli/calibration_options.h"
#include "cli/certification_options.h"
#include "cli/commands.h"
#include "cli/decision_files.h"
#include "cli/option_values.h"
#include "easy/model_summary.h"
#include "easy/quantized_output.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/how_many.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/output_set.h"
#include "sparsebit/core/printable_text.h"
#include "sparsebit/export/measured_placement.h"
#include "sparsebit/export/onnx.h"
#include "sparsebit/quant/error_profiler.h"
#include "sparsebit/quant/quant_model.h"
#include "sparsebit/report/coverage.h"
#include "sparsebit/report/decisions.h"
#include "sparsebit/report/node_names.h"
#include "sparsebit/report/sentences.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

namespace sparsebit::cli {
namespace {

struct QuantizeOptions {
  CalibrationOptions calibration;
  OutputOptions written;
  std::string decisions;
  bool strict = false;
  bool accuracy = false;
  bool measure = false;  ///< choose int8 or float nodes by measuring, not by the platform's table
};

/// Number of quantizers of each kind: "weights, int8 per-channel-symmetric minmax" -> 21.
std::map<std::string, int64_t> kinds_of(const quant::QuantModel& model) {
  std::map<std::string, int64_t> kinds;
  for (const quant::QuantPoint& point : model.points()) {
    const char* what = point.is_weight() ? "weights" : point.is_bias() ? "biases" : "activations";
    ++kinds[std::string(what) + ", " + point.quantizer->summary()];
  }
  return kinds;
}

/// Number of nodes that stay float, by reason.
std::map<std::string, int64_t> reasons_of(const quant::QuantModel& model) {
  std::map<std::string, int64_t> reasons;
  for (const quant::Decision& decision : model.floats())
    ++reasons[report::summary_of(decision, model.platform())];
  return reasons;
}

/// Checks options and output files before the slow work starts.
void check_options(const QuantizeOptions& options, const platforms::Platform& platform) {
  const bool onnx = is_onnx(options.written.output);
  SPARSEBIT_CHECK(
      !options.measure || !platform.runs_in_onnxruntime || !platform.costs.kernels.empty(),
      InvalidArgument, "--measure: ", platform.name,
      " has no `costs`, the table of operators that may be faster in float");
  SPARSEBIT_CHECK(
      !options.measure || (onnx && platform.runs_in_onnxruntime), InvalidArgument,
      "--measure needs an ONNX output, `-o FILE.onnx`, and a platform that runs in ONNX "
      "Runtime, which ",
      platform.name, platform.runs_in_onnxruntime ? " does" : " does not");
  check_output(options.written, options.calibration, platform, options.decisions);
}

/// Accuracy of the float model and of the quantized model.
struct Accuracies {
  Accuracy original, quantized;
};

/// The report at the end of the command.
struct Summary {
  int64_t samples;
  bool is_random = false;  ///< activations were calibrated with random numbers
  std::string preprocess = {};
  bool is_guessed = false;
  std::vector<std::string> warnings = {};
  std::optional<Accuracies> accuracies = {};
  report::Coverage coverage = {};
  std::vector<quant::LayerError> worst = {};  ///< signal-to-noise ratio, in decibels
  WrittenOutput written = {};
  std::optional<exports::MeasuredPlacement> measured = {};
};

/// With --measure: times the placements on this machine and sets the fastest in the config.
std::optional<exports::MeasuredPlacement> measure_placement(const QuantizeOptions& options,
                                                            ModelWithData& given) {
  if (!options.measure) return std::nullopt;
  const int64_t fixed = given.model.module->fixed_batch();
  const auto example = values_of(given.data.batch(0, std::max<int64_t>(1, fixed)).inputs);
  auto measured = exports::measure_placements(*given.model.module, given.config, example);
  given.config.schedule.float_where_faster = measured.float_where_faster;
  if (measured.chosen().milliseconds > measured.of_float().milliseconds) {
    const std::string text =
        fmt::format("int8 is not faster than float on this machine: {:.2f} ms, float {:.2f} ms",
                    measured.chosen().milliseconds, measured.of_float().milliseconds);
    log_warning("{}", text);
    given.warnings.push_back(text);
  }
  return measured;
}

std::string as_text(const exports::MeasuredPlacement& measured) {
  std::string text = "measured in ONNX Runtime:";
  for (const exports::PlacementTime& placement : measured.placements)
    text += fmt::format("{} {} {:.2f} ms{}", &placement == &measured.placements.front() ? "" : ",",
                        placement.name, placement.milliseconds,
                        &placement == &measured.chosen() ? " (chosen)" : "");
  return text + "\n";
}

nlohmann::ordered_json as_json(const exports::MeasuredPlacement& measured) {
  nlohmann::ordered_json json = {{"chosen", measured.chosen().name}};
  for (const exports::PlacementTime& placement : measured.placements)
    json["milliseconds"][placement.name] = placement.milliseconds;
  return json;
}

/// The layers with the largest quantization error, each quantized alone.
std::vector<quant::LayerError> worst_layers(quant::QuantModel& model, const PreparedData& data) {
  constexpr size_t kShown = 5;
  constexpr int64_t kSamples = 8;
  struct Energy {
    double signal = 0, noise = 0;
  };
  const at::NoGradGuard no_gradients;
  std::map<std::string, Energy> energies;                          // by layer
  const int64_t step = std::max<int64_t>(1, model.fixed_batch());  // small batches save memory
  for (int64_t start = 0; start < std::min(kSamples, data.size()); start += step) {
    std::vector<double> signals;
    const auto noise = [&](const at::Tensor& quantized, const at::Tensor& expected) {
      signals.push_back(quant::energy(expected));
      return quant::energy_of_difference(quantized, expected);
    };
    const auto errors = quant::quantization_error(model, values_of(data.batch(start, step).inputs),
                                                  noise, quant::ErrorScope::Alone);
    for (size_t i = 0; i < errors.size(); ++i) {
      energies[errors[i].layer].signal += signals[i];
      energies[errors[i].layer].noise += errors[i].value;
    }
  }
  std::vector<quant::LayerError> worst;
  for (const auto& [layer, energy] : energies)
    worst.push_back({layer, quant::decibels(energy.signal, energy.noise)});
  std::stable_sort(worst.begin(), worst.end(),
                   [](const auto& a, const auto& b) { return a.value < b.value; });
  worst.resize(std::min(worst.size(), kShown));
  return worst;
}

/// Measures on at most 256 of the calibration samples, to be quick.
Accuracies measure_both(const CalibrationOptions& asked, quant::QuantModel& model,
                        const PreparedData& data, std::vector<std::string>& warnings) {
  constexpr int64_t kMost = 256;
  const ProgressOptions progress = shown_progress(asked.common, asked.json);
  ModelRunner original(asked.model, asked.common.seed, Engine::Interpreter, asked.data.shapes);
  ModelRunner quantized(model);
  const Accuracies found{measure_accuracy(original, data, progress, kMost),
                         measure_accuracy(quantized, data, progress, kMost)};
  if (const std::string text = near_chance_warning(found.original, "the float model");
      !text.empty()) {
    log_warning("{}", text);
    warnings.push_back(text);
  }
  return found;
}

nlohmann::ordered_json as_json(const Accuracies& found) {
  const auto shares = [](const Accuracy& accuracy) {
    return nlohmann::ordered_json{{"top1", accuracy.top1()}, {"top5", accuracy.top5()}};
  };
  return {{"samples", found.original.samples},
          {"float", shares(found.original)},
          {"quantized", shares(found.quantized)}};
}

std::string as_text(const Accuracies& found, int64_t samples) {
  std::string text = fmt::format("accuracy on {} of the {} calibration samples\n",
                                 found.original.samples, samples);
  for (const auto& [name, accuracy] :
       {std::pair("float", &found.original), {"quantized", &found.quantized}})
    text += fmt::format("  {:<9}  top-1 {:.2f} %   top-5 {:.2f} %\n", name, accuracy->top1(),
                        accuracy->top5());
  return text;
}

std::string as_json(const QuantizeOptions& options, const quant::QuantModel& model,
                    const Summary& summary) {
  const report::NodeNames names(model.module().graph());
  nlohmann::ordered_json json;
  json["file"] = options.written.output;
  if (summary.written.bytes_before > 0) json["bytes_before"] = summary.written.bytes_before;
  json["bytes"] = summary.written.bytes;
  json["samples"] = summary.samples;
  json["random_data"] = summary.is_random;
  if (summary.is_random) json["not_for_deployment"] = kNotForDeployment;
  json["preprocess"] = {{"text", summary.preprocess}, {"guessed", summary.is_guessed}};
  json["quantizers"] = kinds_of(model);
  json["quantized"] = !model.is_float();
  json["coverage"] = {{"macs", summary.coverage.share_of_macs()},
                      {"nodes", summary.coverage.share_of_nodes()}};
  json["worst"] = nlohmann::ordered_json::array();
  for (const auto& [layer, decibels] : summary.worst)
    json["worst"].push_back(
        {{"layer", layer}, {"source_name", names.shown(layer)}, {"sqnr", decibels}});
  json["float"] = nlohmann::ordered_json::array();
  for (const quant::Decision& decision : model.floats())
    json["float"].push_back(
        {{"node", decision.node},
         {"source_name", names.shown(decision.node)},
         {"kind", to_string(decision.kind)},
         {"reason", report::sentence(names.shown(decision), model.platform())}});
  json["unused_patterns"] = model.unused_patterns();
  json["warnings"] = summary.warnings;
  if (summary.accuracies) json["accuracy"] = as_json(*summary.accuracies);
  if (summary.measured) json["measured"] = as_json(*summary.measured);
  if (summary.written.certificate)
    json["certificate"] = nlohmann::ordered_json::parse(to_json(*summary.written.certificate));
  return json_text(json);
}

/// The nodes that the platform computes in float, and why.
std::string islands(const report::Coverage& coverage, const platforms::Platform& platform) {
  constexpr size_t kShown = 5;
  std::string text;
  const auto floats = coverage.floats();
  for (size_t i = 0; i < std::min(floats.size(), kShown); ++i)
    text += fmt::format("    {} ({}): {}\n", printable(floats[i]->shown, kMostOfCell),
                        floats[i]->op, report::sentence(*floats[i]->why_float, platform));
  if (floats.size() > kShown)
    text += fmt::format("    and {} more; --decisions FILE lists all\n", floats.size() - kShown);
  return text;
}

std::string worst_text(const quant::QuantModel& model, const Summary& summary) {
  const report::NodeNames names(model.module().graph());
  std::string text = "layers with the largest error (signal-to-noise ratio)\n";
  for (const auto& [layer, decibels] : summary.worst)
    text +=
        fmt::format("  {:>5.1f} dB  {}\n", decibels, printable(names.shown(layer), kMostOfCell));
  return text;
}

std::string as_text(const QuantizeOptions& options, const quant::QuantModel& model,
                    const Summary& summary) {
  std::string text = summary.is_random ? std::string(kNotForDeployment) + "\n" : "";
  text += fmt::format("calibrated with {} for {}\n",
                      how_many(summary.samples, summary.is_random ? "random sample" : "sample"),
                      model.platform().name);
  if (summary.preprocess != "none") text += fmt::format("preprocessing: {}\n", summary.preprocess);
  if (summary.measured) text += as_text(*summary.measured);
  for (const auto& [kind, count] : kinds_of(model))
    text += fmt::format("  {:>5}  {}\n", count, kind);
  for (const auto& [reason, count] : reasons_of(model))
    text += fmt::format("  {:>5}  {} float: {}\n", count, count == 1 ? "node stays" : "nodes stay",
                        reason);
  text += fmt::format("int8 coverage in {}: {:.1f} % of MACs, {:.1f} % of nodes\n",
                      model.platform().name, 100 * summary.coverage.share_of_macs(),
                      100 * summary.coverage.share_of_nodes());
  text += islands(summary.coverage, model.platform());
  if (model.is_float()) {
    text += "verdict: float; nothing is quantized, for the reasons above\n";
  } else {
    text += worst_text(model, summary);
  }
  if (summary.accuracies) text += as_text(*summary.accuracies, summary.samples);
  if (!is_onnx(options.written.output))
    text +=
        "simulation file: weights are stored as float; use `-o FILE.onnx` for integer weights\n";
  if (summary.written.bytes_before > 0)
    text += fmt::format("size: {} -> {}\n", in_megabytes(summary.written.bytes_before),
                        in_megabytes(summary.written.bytes));
  if (summary.written.certificate) {
    text += to_text(*summary.written.certificate);
    text += fmt::format("wrote {}\n",
                        certificate_file(options.written.output, options.written.certification));
  }
  return text + fmt::format("wrote {} ({})\n", printable(options.written.output),
                            in_megabytes(summary.written.bytes));
}

void quantize(QuantizeOptions options, std::ostream& out) {
  CalibrationOptions& asked = options.calibration;
  if (asked.data.data.empty()) asked.data.random = true;
  options.written.measured = options.measure;
  options.written.certification.json = asked.json;
  options.written.certification.common = asked.common;
  apply(asked.common);
  check_options(options, *chosen_config(asked).config.platform);
  ModelWithData given = load_with_data(asked);
  const PreparedData& data = given.data;
  check_runs(options.written, given.model);
  auto measured = measure_placement(options, given);
  const auto model = calibrated_model(asked, given);
  model->set_quant({.weights = true, .activations = true});
  Summary summary{.samples = data.size(),
                  .is_random = has_random_ranges(*model, data),
                  .preprocess = data.preprocess_text(),
                  .is_guessed = !data.prepared_feed().guessed_from.empty(),
                  .coverage = report::coverage_of(*model),
                  .measured = std::move(measured)};
  if (options.strict) check_strictly(*model, summary.coverage);
  summary.worst = worst_layers(*model, data);
  if (options.accuracy || !asked.data.labels.empty())
    summary.accuracies = measure_both(asked, *model, data, given.warnings);
  summary.warnings = given.warnings;
  OutputSet outputs;  // model, decisions and certificate appear together
  if (!options.decisions.empty())
    write_decisions(outputs.stage(options.decisions).string(), *model);
  summary.written = write_quantized(*model, asked, data, options.written, outputs);
  outputs.commit();
  out << (asked.json ? as_json(options, *model, summary) : as_text(options, *model, summary));
  if (summary.written.certificate)
    check_passed(*summary.written.certificate, options.written.certification);
}

/// Declares the output files and the form of the ONNX file.
void add_output_options(CLI::App& command, QuantizeOptions& options) {
  OutputOptions& written = options.written;
  command
      .add_option(
          "-o,--output", written.output,
          "Output file: FILE.onnx with integer weights; any other name saves the simulation")
      ->required()
      ->type_name(value_kind::kFile)
      ->check(not_empty);
  command
      .add_option(
          "--decisions", options.decisions,
          "Write to this file why each node is quantized or float: JSON if FILE.json, else text")
      ->type_name(value_kind::kFile)
      ->check(not_empty);
  command.add_flag(
      "--extra-info", written.extra_info,
      "Write `bits` attributes to QuantizeLinear and DequantizeLinear (ONNX Runtime refuses "
      "such files)");
  command.add_flag("--external-data", written.external_data, kExternalDataHelp);
  command
      .add_option("--format", written.format,
                  "ONNX format: qdq (QuantizeLinear/DequantizeLinear pairs) or qoperator (integer "
                  "operators, mostly ONNX Runtime's own). Default: " +
                      written.format)
      ->check(CLI::IsMember({"qdq", "qoperator"}));
  command
      .add_option("--opset", written.opset,
                  fmt::format("ONNX opset, {} to {}. Default: 17, or 21 for more than 8 bits",
                              exports::kOldestOpset, exports::kNewestOpset))
      ->check(whole_number_from(exports::kOldestOpset, exports::kNewestOpset));
}

}  // namespace

void add_quantize_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<QuantizeOptions>();
  CLI::App* cmd = app.add_subcommand("quantize", "Calibrate and quantize a model");
  add_calibration_options(*cmd, options->calibration);
  add_output_options(*cmd, *options);
  cmd->add_flag("--strict", options->strict,
                "Fail if a pattern matches nothing, an operator is unknown or a layer stays float");
  cmd->add_flag("--accuracy", options->accuracy,
                "Measure top-1 and top-5, float and quantized, on up to 256 samples. Default: only "
                "with --labels");
  cmd->add_flag(
      "--measure", options->measure,
      "Time int8 and mixed int8/float in ONNX Runtime and write the faster one. Default: the "
      "platform's table decides");
  CLI::Option* certify = cmd->add_flag(
      "--certify", options->written.certify,
      "Compare simulation, file and ONNX Runtime on up to 32 samples, and measure the "
      "speed");
  for (CLI::Option* option : add_certification_options(*cmd, options->written.certification))
    option->needs(certify);
  cmd->footer(
      "Without --data, the model is calibrated with random numbers: the file shows speed and size, "
      "but is not for deployment.\n"
      "Examples:\n"
      "  sparsebit quantize model.onnx --data images/ --samples 256 -o model.int8.onnx\n"
      "  sparsebit quantize model.onnx --data images/ --labels labels.tsv --preprocess imagenet "
      "-o model.int8.onnx\n"
      "  sparsebit quantize model.onnx --data list.txt --exclude 'head*' -o model.int8.onnx\n"
      "  sparsebit quantize model.onnx -o model.int8.onnx");
  cmd->callback([options, &out] { quantize(*options, out); });
}

}  // namespace sparsebit::cli
