#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/eval_report.h"
#include "cli/option_values.h"
#include "cli/origin.h"
#include "easy/file_kind.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/log.h"

#include <fmt/format.h>
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

/// Ground truth beyond the class labels of the data set.
struct Truth {
  std::unique_ptr<io::BoxLabels> boxes = {};
  std::vector<double> scores = {};  ///< similarity scores of text pairs
};

/// Loads boxes or scores, and clears --labels if it names boxes: a data set reads only class
/// labels.
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
                    ": there are no labels; give --labels (classes: a TSV file, or one folder of "
                    "images per class; boxes: a folder of YOLO labels or COCO annotations), text "
                    "pairs with a score, or --against MODEL to compare outputs");
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
    const Accuracy found = measure_accuracy(model, data, progress_);
    const std::string warning = near_chance_warning(found, "the model");
    if (!warning.empty()) log_warning("{}", warning);
    return found;
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
      .add_option("--head", options.head,
                  "Detectors: format of the outputs. Default: detected from their names and shapes")
      ->check(CLI::IsMember(heads));
  command
      .add_option(
          "--class-numbers", options.class_numbers,
          "Detectors: classes are counted from zero, from one (0 is the background), or are "
          "category ids of the annotations or of COCO (1 to 90). Default: guessed from the "
          "head")
      ->check(CLI::IsMember(numberings));
  command
      .add_option("--score-threshold", options.selection.least_score,
                  fmt::format("Detectors: keep detections with a higher score. Default: {}",
                              options.selection.least_score))
      ->check(CLI::Range(0., 1.));
  command
      .add_option("--nms-iou", options.selection.most_overlap,
                  fmt::format("Detectors without NMS: IoU threshold of NMS. Default: {}",
                              options.selection.most_overlap))
      ->check(CLI::Range(0., 1.));
}

}  // namespace

void add_eval_command(CLI::App& app, std::ostream& out) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* cmd = app.add_subcommand(
      "eval", "Measure accuracy, mAP or embedding quality, or compare a model with another");
  cmd->add_option("model", options->model,
                  "Model: an ONNX, TorchScript or torch.export (.pt2) file, a file of 'sparsebit "
                  "quantize', or zoo:NAME")
      ->required()
      ->type_name(value_kind::kModel)
      ->check(not_empty);
  add_data_options(*cmd, options->data);
  cmd->get_option("--labels")
      ->description(
          "TSV file of classes, folder of YOLO labels, or COCO annotations (.json). Default: "
          "folders of images are the classes");
  cmd->add_option("--against", options->against,
                  "Reference model, usually float, to compare outputs with; needs no labels")
      ->type_name(value_kind::kModel)
      ->check(not_empty);
  cmd->add_option("--runtime", options->runtime,
                  "Runtime that executes the model. Default: " + options->runtime)
      ->check(CLI::IsMember({"sparsebit", "onnxruntime"}));
  add_detection_options(*cmd, options->detection);
  cmd->add_option("--pooling", options->pooling,
                  "Embeddings: mean over the tokens, or the first token. Default: mean, unless the "
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
