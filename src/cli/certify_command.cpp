#include "cli/certification_options.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/origin.h"
#include "easy/file_kind.h"
#include "easy/model_facts.h"
#include "easy/model_inputs.h"
#include "easy/output_files.h"

#include "sparsebit/core/error.h"
#include "sparsebit/export/quantized_file.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace sparsebit::cli {
namespace {

struct CertifyOptions {
  std::string file;
  std::string original;
  std::string simulation;
  DataOptions data;
  CertificationOptions certification;
};

PreparedData data_for(const CertifyOptions& options,
                      const std::optional<io::Preprocess>& preprocess) {
  const LoadedModel file = load_with_shapes(options.file, options.data.shapes, 0);
  const std::string& beside = options.original.empty() ? options.file : options.original;
  PreparedData data(options.data, input_specs(file), beside, options.certification.common.seed,
                    preprocess, facts_of(file));
  check_fits(*file.module, data.batch(0, 1).inputs, options.file);
  return data;
}

void certify(const CertifyOptions& options, std::ostream& out) {
  const CertificationOptions& asked = options.certification;
  apply(asked.common);
  SPARSEBIT_CHECK(file_kind(options.file).format == ModelFormat::Onnx, InvalidArgument,
                  options.file, ": not an ONNX file; only quantized ONNX files can be certified");
  const Origin origin = origin_of_model(options.file);
  const PreparedData data = data_for(options, origin.preprocess);
  check_output_files(
      {certificate_file(options.file, asked)},
      {options.file, options.original, options.simulation, options.data.data, options.data.labels});
  check_certificate_file(options.file, /*replaced=*/false, asked);
  std::unique_ptr<quant::QuantModel> simulation;
  if (!options.simulation.empty()) {
    SPARSEBIT_CHECK(exports::is_quantized_file(options.simulation), InvalidArgument,
                    options.simulation, ": not a simulation file of 'sparsebit quantize'");
    simulation = exports::load_quantized(options.simulation);
    simulation->set_quant({.weights = true, .activations = true});
  }
  const exports::Certificate certificate =
      certify_file(options.file, options.original, origin.config, simulation.get(), data, asked);
  out << (asked.json ? exports::to_json(certificate) : exports::to_text(certificate));
  check_certificate_file(options.file, /*replaced=*/false, asked);
  check_same_data(certificate, options.file, asked);
  write_certificate(certificate, options.file, certificate_file(options.file, asked));
  if (!asked.json) out << "wrote " << certificate_file(options.file, asked) << "\n";
  check_passed(certificate, asked);
}

}  // namespace

void add_certify_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<CertifyOptions>();
  CLI::App* cmd = app.add_subcommand(
      "certify", "Check a quantized ONNX file against its simulation, and measure its speed");
  cmd->add_option("file", options->file, "Quantized ONNX file")
      ->required()
      ->type_name(value_kind::kFile)
      ->check(not_empty);
  cmd->add_option("--against", options->original, "Float model to compare quality and speed with")
      ->type_name(value_kind::kModel)
      ->check(not_empty);
  cmd->add_option(
         "--simulation", options->simulation,
         "Simulation file of 'sparsebit quantize' with the expected results. Default: the file "
         "itself, run by the interpreter")
      ->type_name(value_kind::kFile)
      ->check(not_empty);
  add_data_options(*cmd, options->data);
  add_certification_options(*cmd, options->certification);
  cmd->add_flag("--json", options->certification.json, "Print the certificate as JSON");
  add_common_options(*cmd, options->certification.common);
  cmd->footer(
      "Example:\n"
      "  sparsebit certify model.int8.onnx --against model.onnx --data images/ --samples 100");
  cmd->callback([options, &out] { certify(*options, out); });
}

}  // namespace sparsebit::cli
