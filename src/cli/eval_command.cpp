#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/data_options.h"
#include "cli/file_kind.h"
#include "cli/model_inputs.h"
#include "cli/model_source.h"
#include "cli/origin.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/progress.h"
#include "sparsebit/export/onnxruntime.h"
#include "sparsebit/export/quantized_file.h"
#include "sparsebit/fx/executor.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
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

/// A float or quantized model that gives scores.
class Classifier {
 public:
  /// @param in_onnxruntime  a file that ONNX Runtime computes, not we.
  Classifier(const std::string& source, uint64_t seed, bool in_onnxruntime) {
    if (std::filesystem::is_regular_file(source) && exports::is_quantized_file(source)) {
      quantized_ = exports::load_quantized(source);
    } else {
      loaded_ = load_model(source, {.seed = seed});
      loaded_.module->eval();
    }
    // What the graph of a quantized one tells is only the example it was made with.
    batch_ = quantized_ ? quantized_->fixed_batch() : loaded_.module->fixed_batch();
    if (in_onnxruntime) load_into_onnxruntime(source);
  }

  /// How many samples it takes at once; 0 when any number will do.
  int64_t fixed_batch() const { return batch_; }

  at::Tensor scores(const PreparedData::Batch& batch) {
    const at::Tensor scores = first_output(batch.inputs);
    const int64_t classes = scores.dim() > 1 ? scores.numel() / scores.size(0) : 0;
    const bool is_row = classes > 0 && scores.size(1) == classes && scores.size(0) == batch.size;
    SPARSEBIT_CHECK(is_row, InvalidArgument, "the model gives ", scores.sizes(), " for a batch of ",
                    batch.size, "; accuracy needs a score for each class");
    return scores.flatten(1);
  }

  fx::GraphModule& module() { return quantized_ ? quantized_->module() : *loaded_.module; }

  std::vector<data::InputSpec> inputs() {
    return quantized_ ? data::inputs_of(module()) : input_specs(loaded_);
  }

 private:
  void load_into_onnxruntime(const std::string& source) {
    SPARSEBIT_CHECK(is_onnx_file(source), InvalidArgument, source,
                    ": ONNX Runtime computes ONNX files only");
    runtime_ = std::make_unique<exports::OnnxRuntime>();
    session_ = runtime_->load(source);
  }

  at::Tensor first_output(const std::vector<at::Tensor>& batch) {
    if (runtime_) return runtime_->run(session_, named(batch)).at(0);
    const c10::InferenceMode no_gradients;
    const fx::Value result =
        quantized_ ? quantized_->forward(values_of(batch))
                   : executors_(*loaded_.module, {fx::RunMode::Inference})->run(values_of(batch));
    return (result.is_sequence() ? result.items().at(0) : result).tensor();
  }

  std::map<std::string, at::Tensor> named(const std::vector<at::Tensor>& batch) {
    std::map<std::string, at::Tensor> inputs;
    const auto placeholders = module().graph().placeholders();
    for (size_t i = 0; i < batch.size(); ++i) inputs[placeholders[i]->target()] = batch[i];
    return inputs;
  }

  std::unique_ptr<quant::QuantModel> quantized_;
  LoadedModel loaded_;
  fx::ExecutorFactory executors_ = fx::make_interpreter;
  std::unique_ptr<exports::OnnxRuntime> runtime_;
  exports::OrtSession session_ = {};
  int64_t batch_ = 0;
};

struct Accuracy {
  int64_t samples = 0, first = 0, among_five = 0;
};

Accuracy evaluate(Classifier& classifier, const PreparedData& data, const EvalOptions& options) {
  Progress progress("evaluating", data.size(), shown_progress(options.common, options.json));
  const int64_t fixed = classifier.fixed_batch();
  const int64_t reading = data.step(fixed);
  const int64_t step = fixed > 0 ? fixed : reading;
  Accuracy found;
  for (int64_t start = 0; start < data.size(); start += step) {
    const PreparedData::Batch batch = data.batch(start, step);
    const at::Tensor scores = classifier.scores(batch);
    const at::Tensor best = std::get<1>(scores.topk(std::min<int64_t>(5, scores.size(1)), 1));
    for (int64_t i = 0; i < scores.size(0); ++i) {
      const int64_t label = batch.labels.at(static_cast<size_t>(i));
      SPARSEBIT_CHECK(label >= 0 && label < scores.size(1), InvalidArgument, "sample ", start + i,
                      " has class ", label, ", and the model gives scores for ", scores.size(1),
                      " classes");
      const at::Tensor hits = best[i].eq(label);
      found.first += hits[0].item<bool>() ? 1 : 0;
      found.among_five += hits.any().item<bool>() ? 1 : 0;
      ++found.samples;
    }
    progress.advance(scores.size(0));
  }
  progress.finish();
  return found;
}

void eval(const EvalOptions& options, std::ostream& out) {
  apply(options.common);
  Classifier classifier(options.model, options.common.seed, options.runtime == "onnxruntime");
  const PreparedData data(options.data, classifier.inputs(), options.model, options.common.seed,
                          origin_of_model(options.model).preprocess);
  SPARSEBIT_CHECK(data.has_labels(), InvalidArgument, options.data.data,
                  ": there are no labels; give --labels, or folders that are classes");
  check_fits(classifier.module(), data.batch(0, 1).inputs, options.model);
  const Accuracy found = evaluate(classifier, data, options);
  const auto share = [&](int64_t hits) {
    return 100. * static_cast<double>(hits) /
           static_cast<double>(std::max<int64_t>(1, found.samples));
  };
  if (options.json) {
    out << nlohmann::ordered_json{{"samples", found.samples},
                                  {"top1", share(found.first)},
                                  {"top5", share(found.among_five)}}
               .dump(2)
        << "\n";
    return;
  }
  out << fmt::format("top-1 {:.2f} %   top-5 {:.2f} %   of {} samples\n", share(found.first),
                     share(found.among_five), found.samples);
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
