#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/eval_report.h"
#include "cli/file_kind.h"
#include "cli/origin.h"

#include "sparsebit/core/error.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>

namespace sparsebit::cli {
namespace {

struct EvalOptions {
  std::string model;
  std::string against = {};
  DataOptions data;
  std::string runtime = "sparsebit";
  DetectionOptions detection;
  std::string pooling = {};
  bool json = false;
  CommonOptions common;
};

/// What the answers of a model are compared with, apart from classes that the data set has itself.
struct Truth {
  std::unique_ptr<io::BoxLabels> boxes = {};
  std::vector<double> scores = {};  ///< of pairs of texts
};

/// Takes labels of boxes out of the options: data sets know labels of classes only.
Truth find_truth(EvalOptions& options) {
  const std::string& data = options.data.data;
  std::string& labels = options.data.labels;
  Truth truth;
  if (labels.empty() && data::is_text_file(data) && std::filesystem::is_regular_file(data)) {
    const std::vector<data::TextLine> lines = data::read_text_lines(data);
    if (!data::are_scored_pairs(lines)) return truth;
    for (const data::TextLine& line : lines) truth.scores.push_back(*line.score);
    return truth;
  }
  if (labels.empty() && options.against.empty()) labels = io::box_labels_beside(data).string();
  if (labels.empty() || !io::are_box_labels(labels)) return truth;
  truth.boxes = io::open_box_labels(labels);
  labels.clear();
  return truth;
}

class Evaluator {
 public:
  explicit Evaluator(EvalOptions options)
      : options_(std::move(options)),
        progress_(shown_progress(options_.common, options_.json)),
        truth_(find_truth(options_)) {
    if (options_.data.tokenizer.empty() && tokenizer_beside(options_.model).empty())
      options_.data.tokenizer = tokenizer_beside(options_.against);
  }

  Evaluation evaluate() {
    const bool in_onnxruntime = options_.runtime == "onnxruntime";
    ModelRunner model(options_.model, options_.common.seed,
                      in_onnxruntime ? Engine::OnnxRuntime : Engine::Interpreter,
                      options_.data.shapes);
    const PreparedData data = samples_for(model);
    SPARSEBIT_CHECK(has_truth(data) || !options_.against.empty(), InvalidArgument,
                    options_.data.data,
                    ": there are no labels; give --labels (classes: a TSV file, or folders that "
                    "are classes; boxes: a folder of YOLO labels or COCO annotations), pairs of "
                    "texts with a score, or --against MODEL to compare outputs");
    Evaluation found;
    if (has_truth(data)) found.model = measure_task(model, data);
    if (options_.against.empty()) return found;
    ModelRunner reference(options_.against, options_.common.seed,
                          in_onnxruntime && is_onnx_file(options_.against) ? Engine::OnnxRuntime
                                                                           : Engine::Interpreter,
                          options_.data.shapes);
    if (has_truth(data)) found.reference = measure_task(reference, data);
    found.outputs = measure_similarity(model, reference, data, progress_);
    if (truth_.scores.empty())
      found.agreement =
          measure_agreement(model, reference, data, data::is_text_file(options_.data.data),
                            options_.pooling, progress_);
    return found;
  }

 private:
  bool has_truth(const PreparedData& data) const {
    return truth_.boxes || !truth_.scores.empty() || data.has_labels();
  }

  PreparedData samples_for(ModelRunner& model, data::TextPart part = data::TextPart::Both) const {
    DataOptions data = options_.data;
    data.text_part = part;
    PreparedData samples(data, model.inputs(), options_.model, options_.common.seed,
                         origin_of_model(options_.model).preprocess, model.facts());
    check_fits(model.module(), samples.batch(0, 1).inputs, options_.model);
    return samples;
  }

  TaskResult measure_task(ModelRunner& model, const PreparedData& data) const {
    if (!truth_.scores.empty())
      return measure_scored_pairs(model, samples_for(model, data::TextPart::First),
                                  samples_for(model, data::TextPart::Second), truth_.scores,
                                  options_.pooling, progress_);
    if (truth_.boxes)
      return measure_detections(model, data, *truth_.boxes, options_.detection, progress_);
    return measure_accuracy(model, data, progress_);
  }

  EvalOptions options_;
  ProgressOptions progress_;
  Truth truth_;
};

void eval(const EvalOptions& options, std::ostream& out) {
  apply(options.common);
  const Evaluation found = Evaluator(options).evaluate();
  out << (options.json ? evaluation_as_json(found) : evaluation_as_text(found));
}

void add_detection_options(CLI::App& command, DetectionOptions& options) {
  std::vector<std::string> heads, numberings;
  for (const metrics::DetectorHead& head : metrics::detector_heads()) heads.push_back(head.name);
  for (const auto& [name, numbering] : metrics::class_numberings()) numberings.push_back(name);
  command
      .add_option(
          "--head", options.head,
          "Of a detector: what its outputs mean; recognized by names and shapes unless told")
      ->check(CLI::IsMember(heads));
  command
      .add_option("--class-numbers", options.class_numbers,
                  "Of a detector: classes are counted from zero or from one (the background is 0), "
                  "are ids of the annotations' categories, or COCO's ids, 1 to 90")
      ->check(CLI::IsMember(numberings));
  command
      .add_option("--score-threshold", options.selection.least_score,
                  "Of a detector: detections need a higher score")
      ->check(CLI::Range(0., 1.))
      ->capture_default_str();
  command
      .add_option("--nms-iou", options.selection.most_overlap,
                  "Of a detector without NMS: detections of a class overlap at most so much")
      ->check(CLI::Range(0., 1.))
      ->capture_default_str();
}

}  // namespace

void add_eval_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* cmd = app.add_subcommand(
      "eval", "Measure a model: accuracy, mAP, correlation, or how near it is to another");
  cmd->add_option("model", options->model,
                  "Model: an ONNX or TorchScript file, a file of 'sparsebit quantize', or zoo:NAME")
      ->required()
      ->check(not_empty);
  add_data_options(*cmd, options->data);
  cmd->add_option("--against", options->against,
                  "Another model, usually the float one: compares the outputs, needs no labels")
      ->check(not_empty);
  cmd->add_option("--runtime", options->runtime, "What computes it: sparsebit or onnxruntime")
      ->check(CLI::IsMember({"sparsebit", "onnxruntime"}))
      ->capture_default_str();
  add_detection_options(*cmd, options->detection);
  cmd->add_option("--pooling", options->pooling,
                  "Of embeddings: the mean over the tokens, or the first token; mean unless the "
                  "model pools itself")
      ->check(CLI::IsMember({"mean", "first"}));
  cmd->add_flag("--json", options->json, "Print JSON");
  add_common_options(*cmd, options->common);
  cmd->footer(
      "Examples:\n"
      "  sparsebit eval model.int8.onnx --data images/ --labels labels.tsv --preprocess imagenet\n"
      "  sparsebit eval model.int8.onnx --against model.onnx --data images/\n"
      "  sparsebit eval yolox.int8.onnx --data coco/images --labels coco/labels");
  cmd->callback([options, &out] { eval(*options, out); });
}

}  // namespace sparsebit::cli
