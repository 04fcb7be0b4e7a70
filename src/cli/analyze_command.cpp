#include "cli/calibration_options.h"
#include "cli/commands.h"

#include "sparsebit/core/json_text.h"
#include "sparsebit/core/printable_text.h"
#include "sparsebit/quant/error_profiler.h"
#include "sparsebit/report/node_names.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace sparsebit::cli {
namespace {

struct AnalyzeOptions {
  CalibrationOptions calibration;
  bool accumulated = false;
};

/// The quantization error of a layer, by three measures.
struct Row {
  std::string layer;
  std::string shown;  ///< the layer's name in the model's file, otherwise `layer`
  double mse, sqnr, cosine;
};

/// Computes all three measures in one run of the model.
std::vector<Row> measure(quant::QuantModel& model, const std::vector<at::Tensor>& batch,
                         quant::ErrorScope scope) {
  std::vector<Row> rows;
  const auto by_all = [&](const at::Tensor& quantized, const at::Tensor& expected) {
    rows.push_back({"", "", quant::mean_squared_error(quantized, expected),
                    quant::signal_to_noise(quantized, expected),
                    quant::cosine(quantized, expected)});
    return rows.back().mse;
  };
  const auto errors = quant::quantization_error(model, values_of(batch), by_all, scope);
  const report::NodeNames names(model.module().graph());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].layer = errors[i].layer;
    rows[i].shown = names.shown(errors[i].layer);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.sqnr < b.sqnr; });
  return rows;
}

std::string as_text(const std::vector<Row>& rows) {
  size_t width = 5;
  for (const Row& row : rows) width = std::max(width, printable(row.shown, kMostOfCell).size());
  std::string text =
      fmt::format("{:<{}}  {:>10}  {:>9}  {:>8}\n", "layer", width, "mse", "sqnr (dB)", "cosine");
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}  {:>10.3e}  {:>9.2f}  {:>8.5f}\n",
                        printable(row.shown, kMostOfCell), width, row.mse, row.sqnr, row.cosine);
  }
  return text;
}

std::string as_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    list.push_back({{"layer", row.layer},
                    {"source_name", row.shown},
                    {"mse", row.mse},
                    {"sqnr", row.sqnr},
                    {"cosine", row.cosine}});
  }
  return json_text(list);
}

void analyze(const AnalyzeOptions& options, std::ostream& out) {
  const CalibrationOptions& asked = options.calibration;
  apply(asked.common);
  ModelWithData given = load_with_data(asked);
  const auto model = calibrated_model(asked, given);
  const auto scope =
      options.accumulated ? quant::ErrorScope::Accumulated : quant::ErrorScope::Alone;
  const int64_t count = given.data.at_most(asked.data.batch_size, model->fixed_batch());
  const std::vector<Row> rows = measure(*model, given.data.batch(0, count).inputs, scope);
  out << (asked.json ? as_json(rows) : as_text(rows));
}

}  // namespace

void add_analyze_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* cmd = app.add_subcommand("analyze", "Show the quantization error of each layer");
  add_calibration_options(*cmd, options->calibration);
  cmd->add_flag("--accumulated", options->accumulated,
                "Measure with the whole model quantized. Default: one layer quantized at a time");
  cmd->footer(
      "Layers are sorted by signal-to-noise ratio, worst first, measured on the first batch.\n"
      "Example:\n"
      "  sparsebit analyze model.onnx -c qconfig.yaml --data images/ --preprocess imagenet "
      "--samples 64");
  cmd->callback([options, &out] { analyze(*options, out); });
}

}  // namespace sparsebit::cli
