#include "cli/accuracy.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/data_options.h"
#include "cli/model_runner.h"
#include "cli/origin.h"

#include "sparsebit/core/error.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

namespace sparsebit::cli {
namespace {

struct EvalOptions {
  std::string model;
  DataOptions data;
  std::string runtime = "sparsebit";
  bool json = false;
  CommonOptions common;
};

void eval(const EvalOptions& options, std::ostream& out) {
  apply(options.common);
  ModelRunner model(options.model, options.common.seed,
                    options.runtime == "onnxruntime" ? Engine::OnnxRuntime : Engine::Interpreter);
  const PreparedData data(options.data, model.inputs(), options.model, options.common.seed,
                          origin_of_model(options.model).preprocess);
  SPARSEBIT_CHECK(data.has_labels(), InvalidArgument, options.data.data,
                  ": there are no labels; give --labels, or folders that are classes");
  check_fits(model.module(), data.batch(0, 1).inputs, options.model);
  const Accuracy found =
      measure_accuracy(model, data, shown_progress(options.common, options.json));
  if (options.json) {
    out << nlohmann::ordered_json{{"samples", found.samples},
                                  {"top1", found.top1()},
                                  {"top5", found.top5()}}
               .dump(2)
        << "\n";
    return;
  }
  out << fmt::format("top-1 {:.2f} %   top-5 {:.2f} %   of {} samples\n", found.top1(),
                     found.top5(), found.samples);
}

}  // namespace

void add_eval_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* cmd = app.add_subcommand("eval", "Measure the accuracy of a classifier");
  cmd->add_option("model", options->model,
                  "Model: an ONNX or TorchScript file, a file of 'sparsebit quantize', or zoo:NAME")
      ->required()
      ->check(not_empty);
  add_data_options(*cmd, options->data);
  cmd->add_option("--runtime", options->runtime, "What computes it: sparsebit or onnxruntime")
      ->check(CLI::IsMember({"sparsebit", "onnxruntime"}))
      ->capture_default_str();
  cmd->add_flag("--json", options->json, "Print JSON");
  add_common_options(*cmd, options->common);
  cmd->footer(
      "Example:\n"
      "  sparsebit eval model.quantized --data images/ --labels labels.tsv --preprocess imagenet");
  cmd->callback([options, &out] { eval(*options, out); });
}

}  // namespace sparsebit::cli
