#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/dynamic_axes.h"
#include "cli/input_options.h"
#include "cli/option_values.h"
#include "cli/pass_options.h"
#include "easy/certification.h"
#include "easy/model_inputs.h"
#include "easy/model_source.h"
#include "easy/model_summary.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/how_many.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/log.h"
#include "sparsebit/core/output_set.h"
#include "sparsebit/export/onnx.h"
#include "sparsebit/io/onnx_file.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>

namespace sparsebit::cli {
namespace {

namespace fs = std::filesystem;

struct ConvertOptions {
  std::string model, output;
  int64_t opset = 13;
  bool external_data = false;
  InputOptions inputs;
  std::vector<std::string> dynamic;
  PassOptions passes;
  bool json = false;
  CommonOptions common;
};

/// Facts of the written file, read back from it.
struct Written {
  int nodes = 0;
  int64_t opset = 0, bytes = 0;
};

Written read_back(const fs::path& path) {
  const onnx::ModelProto model = io::load_onnx(path);
  Written written{.nodes = model.graph().node_size(),
                  .bytes = static_cast<int64_t>(io::bytes_of_model(path))};
  for (const onnx::OperatorSetIdProto& opset : model.opset_import()) {
    if (opset.domain().empty()) written.opset = opset.version();
  }
  return written;
}

std::string report(const ConvertOptions& options, const fx::GraphModule& module,
                   const passes::PassReport& passes) {
  const Written written = read_back(options.output);
  const std::vector<std::string> carried = unknown_nodes(module);
  const int64_t parameters = count_parameters(module);
  if (options.json) {
    nlohmann::ordered_json object{{"file", options.output},   {"nodes", written.nodes},
                                  {"parameters", parameters}, {"opset", written.opset},
                                  {"bytes", written.bytes},   {"carried", carried}};
    if (options.passes.any())
      object["passes"] = nlohmann::ordered_json::parse(changes_as_json(passes.changes));
    return json_text(object);
  }
  std::string text = fmt::format("{}: {}, {} parameters, opset {}, {}\n", options.output,
                                 how_many(written.nodes, "node"), in_millions(parameters),
                                 written.opset, in_megabytes(written.bytes));
  if (options.passes.any()) text += fmt::format("passes: {}\n", counted(passes.changes));
  if (!carried.empty()) {
    text += fmt::format("unknown operators, copied unchanged: {}\n", fmt::join(carried, ", "));
  }
  return text;
}

/// Refuses to overwrite the model: its weights are read while the output is written.
void check_target(const ConvertOptions& options) {
  std::error_code none;
  if (!fs::is_regular_file(options.model, none)) return;
  for (const fs::path& file : io::model_files(options.model)) {
    for (const std::string& target : {options.output, options.output + ".data"}) {
      std::error_code ignored;
      SPARSEBIT_CHECK(!fs::equivalent(file, target, ignored), InvalidArgument, target,
                      ": part of the model to convert; write to another file");
    }
  }
}

void warn_about_fixed_inputs(const fx::GraphModule& module) {
  for (const fx::Node* input : module.graph().placeholders()) {
    if (input->tensor_info() || input->args().empty()) continue;
    log_warning(
        "input '{}' is replaced by its default, {}; to keep it as an input, give its --shape",
        input->target(), to_string(input->args().front()));
  }
}

/// Example inputs for the exporter, which runs the model with other sizes where dimensions are
/// dynamic; inputs from files come first.
std::vector<fx::Value> example_inputs(const LoadedModel& model, const InputOptions& given,
                                      const std::vector<DynamicAxis>& dynamic, uint64_t seed) {
  if (!given.files.empty()) return make_inputs(model, given, seed);
  if (dynamic.empty() || !model.example_inputs.empty()) return model.example_inputs;
  return inputs_of_fixed_shape(model, seed).value_or(std::vector<fx::Value>());
}

void convert(const ConvertOptions& options, std::ostream& out) {
  apply(options.common);
  check_pass_options(options.passes);
  const std::vector<DynamicAxis> dynamic = parse_dynamic(options.dynamic);
  const ModelOptions model_options{.given_inputs = named_inputs(options.inputs),
                                   .shapes = known_shapes(options.inputs),
                                   .seed = options.common.seed};
  check_target(options);
  LoadedModel model = load_model(options.model, model_options);
  check_inputs_are_tensors(model);
  apply_shapes(model, options.inputs, model_options.shapes);
  check_dynamic(dynamic, model);
  if (!dynamic.empty() && model.size_decisions > 0) {
    log_warning(
        "{} has control flow that depends on input sizes; the ONNX file keeps the branches taken "
        "for --shape, and is wrong for dynamic sizes that take others",
        model.name);
  }
  check_shapes_known(model);
  warn_about_fixed_inputs(*model.module);
  check_inputs_fit(model);
  exports::OnnxExportOptions export_options{.opset = options.opset};
  if (options.external_data) export_options.save.largest_file = 0;
  export_options.inputs = example_inputs(model, options.inputs, dynamic, options.common.seed);
  const bool shapes_known =
      options.passes.any() && record_shapes(model, options.inputs, options.common.seed).has_value();
  const passes::PassReport passes = run_passes(*model.module, options.passes, shapes_known);
  model.module->eval();
  OutputSet outputs;
  export_with_dynamic(model, dynamic, outputs.stage(options.output).string(), export_options);
  remove_old_certificate(options.output, outputs);
  outputs.commit();
  out << report(options, *model.module, passes);
}

}  // namespace

void add_convert_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* cmd = app.add_subcommand("convert", "Convert a model to ONNX");
  cmd->add_option("model", options->model, kModelHelp)
      ->required()
      ->type_name(value_kind::kModel)
      ->check(not_empty);
  cmd->add_option("-o,--output", options->output, "ONNX file to write")
      ->required()
      ->type_name(value_kind::kFile)
      ->check(not_empty);
  cmd->add_option("--opset", options->opset,
                  fmt::format("ONNX opset, {} to {}. Default: {}", exports::kOldestOpset,
                              exports::kNewestOpset, options->opset))
      ->check(whole_number_from(exports::kOldestOpset, exports::kNewestOpset));
  cmd->add_flag("--external-data", options->external_data, kExternalDataHelp);
  add_shape_option(*cmd, options->inputs.shapes);
  add_example_option(*cmd, options->inputs);
  cmd->add_option(
         "--dynamic", options->dynamic,
         "Dynamic dimension of an input: NAME:DIMENSION=SYMBOL, such as x:0=batch (repeatable)")
      ->type_name("DIMENSION")
      ->allow_extra_args(false);
  add_pass_options(*cmd, options->passes);
  cmd->add_flag("--json", options->json, "Print JSON");
  add_common_options(*cmd, options->common);
  cmd->footer(
      "Examples:\n"
      "  sparsebit convert model.pt -o model.onnx --shape x=1x3x224x224 --dynamic x:0=batch\n"
      "  sparsebit convert old.onnx -o new.onnx --opset 17\n"
      "  sparsebit convert model.onnx -o simpler.onnx --simplify --fuse\n"
      "  sparsebit convert zoo:resnet18 -o resnet18.onnx");
  cmd->callback([options, &out] { convert(*options, out); });
}

}  // namespace sparsebit::cli
