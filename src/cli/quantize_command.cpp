#include "cli/calibration.h"
#include "cli/commands.h"

#include "sparsebit/core/atomic_file.h"
#include "sparsebit/core/error.h"
#include "sparsebit/export/quantized_file.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/quant/quant_model.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <memory>

namespace sparsebit::cli {
namespace {

struct QuantizeOptions {
  CalibrationOptions calibration;
  std::string output;
  int64_t opset = 17;
};

/// Other files hold the simulation itself.
bool is_onnx(const std::string& file) { return std::filesystem::path(file).extension() == ".onnx"; }

/// How many quantizers there are of each kind: "int8 per-channel-symmetric minmax" -> 21.
std::map<std::string, int64_t> kinds_of(const quant::QuantModel& model) {
  std::map<std::string, int64_t> kinds;
  for (const quant::QuantPoint& point : model.points()) {
    const char* what = point.is_weight() ? "weights" : point.is_bias() ? "biases" : "features";
    ++kinds[std::string(what) + ", " + point.quantizer->summary()];
  }
  return kinds;
}

/// How many nodes read floats for which reason.
std::map<std::string, int64_t> reasons_of(const quant::QuantModel& model) {
  const std::string partner = "it runs as one with";  // which is another one each time
  std::map<std::string, int64_t> reasons;
  for (const auto& [node, reason] : model.floats())
    ++reasons[reason.starts_with(partner) ? partner + " the step before" : reason];
  return reasons;
}

/// Before anybody waits: a place where a file can be written, and none that is read.
void check_output(const QuantizeOptions& options) {
  const CalibrationOptions& asked = options.calibration;
  std::error_code none;
  for (const std::string& input : {asked.model, asked.config, asked.data.data, asked.data.labels}) {
    if (input.empty()) continue;
    SPARSEBIT_CHECK(!std::filesystem::equivalent(options.output, input, none), InvalidArgument,
                    options.output, ": this is read, so it cannot be the output");
  }
  const AtomicFile can_be_written(options.output);
}

std::string report(const QuantizeOptions& options, const quant::QuantModel& model,
                   int64_t samples) {
  const auto bytes = std::filesystem::file_size(options.output);
  if (options.calibration.json) {
    nlohmann::ordered_json json;
    json["file"] = options.output;
    json["bytes"] = bytes;
    json["samples"] = samples;
    json["quantizers"] = kinds_of(model);
    json["float"] = nlohmann::ordered_json::array();
    for (const auto& [node, reason] : model.floats())
      json["float"].push_back({{"node", node}, {"reason", reason}});
    json["unused_patterns"] = model.unused_patterns();
    return json.dump(2) + "\n";
  }
  std::string text = fmt::format("calibrated with {} samples\n", samples);
  for (const auto& [kind, count] : kinds_of(model))
    text += fmt::format("  {:>5}  {}\n", count, kind);
  for (const auto& [reason, count] : reasons_of(model))
    text += fmt::format("  {:>5}  nodes stay float: {}\n", count, reason);
  text += "a simulation: weights are stored as floats, and integer files come with ONNX export\n";
  return text + fmt::format("wrote {} ({} bytes)\n", options.output, bytes);
}

/// What the file was made of, without paths, which say nothing elsewhere.
std::string origin_of(const CalibrationOptions& asked, const PreparedData& data) {
  nlohmann::ordered_json json;
  json["config"] = chosen_config(asked).text;
  json["preprocess"] = data.preprocess().describe();
  json["samples"] = data.size();
  if (!data.has_all()) json["seed"] = asked.common.seed;
  json["sequential"] = asked.sequential;
  return json.dump();
}

void quantize(const QuantizeOptions& options, std::ostream& out) {
  const CalibrationOptions& asked = options.calibration;
  apply(asked.common);
  check_output(options);
  const PreparedData data(asked.data, asked.common.seed);
  const auto model = calibrated_model(asked, data);
  model->set_quant({.weights = true, .features = true});
  if (is_onnx(options.output)) {
    exports::export_onnx(*model, options.output, {.opset = options.opset});
  } else {
    exports::save_quantized(*model, options.output, origin_of(asked, data));
  }
  out << report(options, *model, data.size());
}

}  // namespace

void add_quantize_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<QuantizeOptions>();
  CLI::App* cmd = app.add_subcommand("quantize", "Calibrate a model and write it quantized");
  add_calibration_options(*cmd, options->calibration);
  cmd->add_option("-o,--output", options->output, "File to write")->required()->check(not_empty);
  cmd->footer(
      "Example:\n"
      "  sparsebit quantize model.onnx -c qconfig.yaml --data images/ --preprocess imagenet "
      "--samples 256 -o model.quantized");
  cmd->callback([options, &out] { quantize(*options, out); });
}

}  // namespace sparsebit::cli
