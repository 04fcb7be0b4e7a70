#include "cli/calibration_options.h"
#include "cli/commands.h"
#include "cli/decision_files.h"
#include "cli/option_values.h"
#include "easy/file_kind.h"
#include "easy/model_summary.h"
#include "easy/output_files.h"
#include "easy/usage_error.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/log.h"
#include "sparsebit/deploy/artefact_format.h"
#include "sparsebit/deploy/deploy.h"
#include "sparsebit/export/quantized_file.h"
#include "sparsebit/report/coverage.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>

namespace sparsebit::cli {
namespace {

struct DeployOptions {
  CalibrationOptions calibration;
  std::string output;
  std::string name = "model";
  std::vector<std::string> formats = {};
  bool strict = false;
  std::string decisions = {};
};

bool is_simulation(const std::string& model) {
  return std::filesystem::is_regular_file(model) && exports::is_quantized_file(model);
}

/// Loads a saved simulation, which contains its calibration and its platform.
std::unique_ptr<quant::QuantModel> saved_simulation(const CalibrationOptions& asked) {
  const bool alone = asked.config.empty() && asked.data.data.empty() && !asked.data.random &&
                     asked.custom.empty() && asked.exclude.empty() && !asked.sequential;
  SPARSEBIT_CHECK(
      alone, InvalidArgument, asked.model,
      " is already calibrated: leave out --data, --random-data, --config, --custom, --exclude "
      "and --sequential");
  auto model = exports::load_quantized(asked.model);
  SPARSEBIT_CHECK(asked.platform.empty() ||
                      platforms::find_platform(asked.platform)->name == model->platform().name,
                  InvalidArgument, asked.model, " was quantized for ", model->platform().name,
                  ", but --platform is ", asked.platform);
  return model;
}

std::unique_ptr<quant::QuantModel> prepared_model(const CalibrationOptions& asked) {
  if (is_simulation(asked.model)) return saved_simulation(asked);
  if (std::filesystem::is_regular_file(asked.model)) {
    const FileKind kind = file_kind(asked.model);
    SPARSEBIT_CHECK(kind.format != ModelFormat::None, InvalidModel, asked.model,
                    ": not a model or simulation: ", kind.description);
  }
  ModelWithData given = load_with_data(asked);
  auto model = calibrated_model(asked, given);
  model->set_quant({.weights = true, .activations = true});
  return model;
}

std::string known_format(const std::string& name) {
  const auto& formats = deploy::artefact_formats();
  if (formats.contains(name)) return "";
  const std::string near = formats.did_you_mean(name);
  return fmt::format(
      "unknown format '{}'{}", name,
      near.empty() ? fmt::format("; known: {}", fmt::join(formats.names(), ", ")) : near);
}

/// A file in the output folder, which may have to be created, is checked when it is written.
void check_decisions_file(const DeployOptions& options) {
  namespace fs = std::filesystem;
  const fs::path name = fs::path(options.decisions).filename();
  const bool in_new_folder =
      !fs::exists(options.output) && fs::weakly_canonical(options.decisions) ==
                                         fs::weakly_canonical(fs::path(options.output) / name);
  if (in_new_folder) return;
  const CalibrationOptions& asked = options.calibration;
  check_output_files({options.decisions},
                     {asked.model, asked.config, asked.custom, asked.data.data, asked.data.labels});
}

/// Checks names and folders before calibration starts.
void check_options(const DeployOptions& options) {
  const CalibrationOptions& asked = options.calibration;
  check_output_folder(options.output);
  check_decisions_file(options);
  for (const std::string& format : options.formats) deploy::artefact_formats().get(format);
  if (is_simulation(asked.model)) return;
  const platforms::PlatformPtr platform = chosen_config(asked).config.platform;
  deploy::check_deploy_folder(options.output, options.name, platform->name);
  SPARSEBIT_CHECK(!options.formats.empty() || !platform->artefacts.empty(), InvalidArgument,
                  "the platform has no default formats; choose some with --format");
  for (const std::string& format : platform->artefacts) deploy::artefact_formats().get(format);
}

void deploy_model(const DeployOptions& options, std::ostream& out) {
  const CalibrationOptions& asked = options.calibration;
  apply(asked.common);
  check_options(options);
  const auto model = prepared_model(asked);
  const platforms::Platform& platform = model->platform();
  const std::vector<std::string>& formats =
      options.formats.empty() ? platform.artefacts : options.formats;
  const report::Coverage coverage = report::coverage_of(*model);
  if (options.strict) check_strictly(*model, coverage);
  if (coverage.share_of_macs() == 0)
    log_warning("no layer with MACs is quantized for {}", platform.name);
  const std::string title = fmt::format("{} for {}", options.name, platform.name);
  OutputSet outputs;
  const auto files = deploy::stage_deploy(outputs, *model, formats, options.output, options.name,
                                          title, {asked.model, asked.data.data});
  if (!options.decisions.empty())
    write_decisions(outputs.stage(options.decisions).string(), *model);
  outputs.commit();
  if (asked.json) {
    nlohmann::ordered_json json = {
        {"platform", platform.name},
        {"coverage", {{"macs", coverage.share_of_macs()}, {"nodes", coverage.share_of_nodes()}}}};
    for (const auto& file : files) json["files"].push_back(file.string());
    out << json_text(json);
    return;
  }
  out << fmt::format("int8 coverage in {}: {:.1f} % of MACs, {:.1f} % of nodes\n", platform.name,
                     100 * coverage.share_of_macs(), 100 * coverage.share_of_nodes());
  for (const auto& file : files)
    out << fmt::format("wrote {} ({})\n", file.string(),
                       in_megabytes(static_cast<int64_t>(std::filesystem::file_size(file))));
}

}  // namespace

void add_deploy_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<DeployOptions>();
  CLI::App* cmd = app.add_subcommand(
      "deploy", "Quantize a model and write the files that a platform's own tools read");
  add_calibration_options(*cmd, options->calibration);
  cmd->add_option("-o,--output", options->output, "Output folder")
      ->required()
      ->type_name(value_kind::kFolder)
      ->check(not_empty);
  cmd->add_option("--name", options->name, "Base name of the files. Default: " + options->name)
      ->type_name("NAME")
      ->check(not_empty);
  cmd->add_flag("--strict", options->strict,
                "Fail if a pattern matches nothing, an operator is unknown or a layer stays float");
  cmd->add_option(
         "--decisions", options->decisions,
         "Write to this file why each node is quantized or float: JSON if FILE.json, else text")
      ->type_name(value_kind::kFile)
      ->check(not_empty);
  cmd->add_option("--format", options->formats,
                  fmt::format("Formats to write: {}. Default: the platform's formats",
                              fmt::join(deploy::artefact_formats().names(), ", ")))
      ->type_name(value_kind::kArtefactFormat)
      ->check(known_format);
  cmd->footer(
      "The model may also be a simulation file of 'sparsebit quantize'.\n"
      "Example:\n"
      "  sparsebit deploy model.onnx --platform snpe --data images/ --preprocess imagenet "
      "--samples 128 -o out/");
  cmd->callback([options, &out] { deploy_model(*options, out); });
}

}  // namespace sparsebit::cli
