#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/input_options.h"
#include "cli/option_values.h"
#include "easy/model_inputs.h"
#include "easy/model_outputs.h"
#include "easy/model_source.h"
#include "easy/model_summary.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/interpreter.h"

#include <ATen/ATen.h>
#include <CLI/CLI.hpp>

#include <memory>

namespace sparsebit::cli {
namespace {

struct RunOptions {
  std::string model;
  InputOptions inputs;
  std::string folder;
  std::vector<std::string> skip;
  bool json = false;
  CommonOptions common;
};

void run_model(const RunOptions& options, std::ostream& out) {
  apply(options.common);
  const ModelOptions model_options{.skip = options.skip,
                                   .given_inputs = named_inputs(options.inputs),
                                   .shapes = known_shapes(options.inputs),
                                   .seed = options.common.seed};
  LoadedModel model = load_model(options.model, model_options);
  check_inputs_are_tensors(model);
  apply_shapes(model, options.inputs, model_options.shapes);
  const std::vector<std::string> unknown = unknown_nodes(*model.module);
  SPARSEBIT_CHECK(unknown.empty(), Unsupported, options.model,
                  ": cannot be run, it has unknown operators: ", short_list(unknown));
  std::vector<fx::Value> inputs = make_inputs(model, options.inputs, options.common.seed);

  model.module->eval();
  at::manual_seed(options.common.seed);  // for operators that draw random numbers
  fx::Interpreter interpreter(*model.module, fx::RunMode::Inference);
  const fx::Value result = interpreter.run(std::move(inputs));
  std::vector<ModelOutput> outputs = flatten_outputs(*model.module, result);
  if (!options.folder.empty()) save_outputs(outputs, options.folder);
  out << (options.json ? outputs_as_json(outputs) : outputs_as_table(outputs));
}

}  // namespace

void add_run_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* cmd = app.add_subcommand("run", "Run a model and show its outputs");
  cmd->add_option("model", options->model, kModelHelp)
      ->required()
      ->type_name(value_kind::kModel)
      ->check(not_empty);
  add_input_options(*cmd, options->inputs);
  cmd->add_option("-o,--output", options->folder, "Folder to write the outputs to, as NAME.npy")
      ->type_name(value_kind::kFolder)
      ->check(not_empty);
  cmd->add_flag("--json", options->json, "Print JSON instead of a table");
  add_skip_option(*cmd, options->skip);
  add_common_options(*cmd, options->common);
  cmd->footer(
      "Examples:\n"
      "  sparsebit run model.onnx --input x=in.npy -o results\n"
      "  sparsebit run model.pt --random --shape x=1x3x224x224 --seed 1\n"
      "  sparsebit run zoo:resnet18 --random");
  cmd->callback([options, &out] { run_model(*options, out); });
}

}  // namespace sparsebit::cli
