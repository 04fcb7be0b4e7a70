#include "cli/calibration.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/data_options.h"
#include "cli/model_source.h"

#include "sparsebit/core/error.h"
#include "sparsebit/quant/error_profiler.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace sparsebit::cli {
namespace {

struct AnalyzeOptions {
  std::string model;
  std::string config;
  DataOptions data;
  bool accumulated = false;
  bool json = false;
  CommonOptions common;
};

/// What a layer loses, by three measures.
struct Row {
  std::string layer;
  double mse, sqnr, cosine;
};

std::vector<Row> measure(quant::QuantModel& model, const at::Tensor& batch,
                         quant::ErrorScope scope) {
  const auto errors = [&](const quant::ErrorMeasure& by) {
    return quant::quantization_error(model, {batch}, by, scope);
  };
  const auto mse = errors(quant::mean_squared_error), sqnr = errors(quant::signal_to_noise),
             cosine = errors(quant::cosine);
  std::vector<Row> rows;
  for (size_t i = 0; i < mse.size(); ++i)
    rows.push_back({mse[i].layer, mse[i].value, sqnr[i].value, cosine[i].value});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.sqnr < b.sqnr; });
  return rows;
}

std::string as_text(const std::vector<Row>& rows) {
  size_t width = 5;
  for (const Row& row : rows) width = std::max(width, row.layer.size());
  std::string text =
      fmt::format("{:<{}}  {:>10}  {:>9}  {:>8}\n", "layer", width, "mse", "sqnr (dB)", "cosine");
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}  {:>10.3e}  {:>9.2f}  {:>8.5f}\n", row.layer, width, row.mse,
                        row.sqnr, row.cosine);
  }
  return text;
}

std::string as_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    list.push_back(
        {{"layer", row.layer}, {"mse", row.mse}, {"sqnr", row.sqnr}, {"cosine", row.cosine}});
  }
  return list.dump(2) + "\n";
}

void analyze(const AnalyzeOptions& options, std::ostream& out) {
  apply(options.common);
  const PreparedData data(options.data, options.common.seed);
  const auto model = calibrated_model({.model = options.model,
                                       .config = options.config,
                                       .batch_size = options.data.batch_size,
                                       .seed = options.common.seed,
                                       .quiet = options.common.quiet || options.json},
                                      data);
  const auto scope =
      options.accumulated ? quant::ErrorScope::Accumulated : quant::ErrorScope::Alone;
  const std::vector<Row> rows = measure(*model, data.batch(0, options.data.batch_size), scope);
  out << (options.json ? as_json(rows) : as_text(rows));
}

}  // namespace

void add_analyze_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* cmd = app.add_subcommand("analyze", "Show what quantization costs, layer by layer");
  cmd->add_option("model", options->model, kModelHelp)->required()->check(not_empty);
  cmd->add_option("-c,--config", options->config, "YAML file: what is quantized how")
      ->required()
      ->check(not_empty);
  add_data_options(*cmd, options->data);
  cmd->add_flag("--accumulated", options->accumulated,
                "Everything quantized up to a layer, instead of the layer alone");
  cmd->add_flag("--json", options->json, "Print JSON");
  add_common_options(*cmd, options->common);
  cmd->footer(
      "The worst layer comes first. Errors are measured on the first batch.\n"
      "Example:\n"
      "  sparsebit analyze model.onnx -c qconfig.yaml --data images/ --preprocess imagenet "
      "--samples 64");
  cmd->callback([options, &out] { analyze(*options, out); });
}

}  // namespace sparsebit::cli
