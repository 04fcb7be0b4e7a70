#include "cli/eval_report.h"

#include "easy/model_summary.h"
#include "sparsebit/core/how_many.h"
#include "sparsebit/core/json_text.h"
#include "sparsebit/core/printable_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace sparsebit::cli {
namespace {

using Json = nlohmann::ordered_json;

int64_t objects_of(const metrics::MeanAveragePrecision& precision) {
  int64_t objects = 0;
  for (const metrics::ClassPrecision& of_class : precision.classes) objects += of_class.objects;
  return objects;
}

// --- text ----------------------------------------------------------------------------------------

std::string line_of(const Accuracy& found) {
  return fmt::format("top-1 {:.2f} %   top-5 {:.2f} %   of {}", found.top1(), found.top5(),
                     how_many(found.samples, "sample"));
}

std::string line_of(const DetectionAccuracy& found) {
  return fmt::format("mAP50 {:.2f} %   mAP50-95 {:.2f} %   of {} with {}",
                     100 * found.precision.map50, 100 * found.precision.map,
                     how_many(found.precision.images, "image"),
                     how_many(objects_of(found.precision), "object"));
}

std::string line_of(const Correlation& found) {
  return fmt::format("Spearman {:.4f}   Pearson {:.4f}   of {}", found.spearman, found.pearson,
                     how_many(found.pairs, "pair"));
}

/// The settings of the measurement.
std::string note_of(const Accuracy&) { return ""; }

std::string note_of(const DetectionAccuracy& found) {
  std::string note = fmt::format("head {}; {}; score above {}", found.head,
                                 describe(found.numbering), found.selection.least_score);
  note += found.has_nms ? fmt::format(", NMS at IoU {}\n", found.selection.most_overlap) : "\n";
  if (found.unlabelled > 0)
    note += fmt::format("{} without labels skipped\n", how_many(found.unlabelled, "image"));
  return note;
}

std::string note_of(const Correlation& found) {
  return fmt::format("embedding: {}\n", found.embedding);
}

std::string similarity_table(const std::vector<SimilarOutput>& outputs) {
  size_t width = 6;
  const auto cell = [](const std::string& name) { return printable(name, kMostOfCell); };
  for (const SimilarOutput& output : outputs) width = std::max(width, cell(output.output).size());
  std::string table = fmt::format("{:<{}}  {:>8}  {:>8}  {:>18}  {:>10}\n", "output", width,
                                  "cosine", "SNR (dB)", "largest difference", "same top-1");
  for (const auto& [name, found] : outputs) {
    if (found.samples == 0) {
      table += fmt::format("{:<{}}  not compared: shapes differ\n", cell(name), width);
      continue;
    }
    const std::string top1 =
        found.same_top1 ? fmt::format("{:.2f} %", 100 * *found.same_top1) : "-";
    table += fmt::format("{:<{}}  {:>8.5f}  {:>8.2f}  {:>18.4g}  {:>10}\n", cell(name), width,
                         found.cosine, found.snr_db, found.largest_difference, top1);
    if (found.other_shapes > 0)
      table += fmt::format("{:<{}}  {} skipped: shapes differ\n", "", width,
                           how_many(found.other_shapes, "sample"));
  }
  return table;
}

// --- JSON ----------------------------------------------------------------------------------------

Json json_of(const Accuracy& found) {
  return {{"samples", found.samples}, {"top1", found.top1()}, {"top5", found.top5()}};
}

Json json_of(const DetectionAccuracy& found) {
  const metrics::MeanAveragePrecision& precision = found.precision;
  Json json = {{"samples", precision.images},
               {"map50", 100 * precision.map50},
               {"map50_95", 100 * precision.map},
               {"objects", objects_of(precision)},
               {"left_out", found.unlabelled},
               {"head", found.head},
               {"class_numbers", describe(found.numbering)},
               {"score_threshold", found.selection.least_score},
               {"nms_iou", found.has_nms ? Json(found.selection.most_overlap) : Json(nullptr)},
               {"classes", Json::array()}};
  for (const metrics::ClassPrecision& of_class : precision.classes) {
    Json entry = {{"class", of_class.label}};
    if (of_class.label < std::ssize(found.class_names))
      entry["name"] = found.class_names[static_cast<size_t>(of_class.label)];
    entry["objects"] = of_class.objects;
    entry["ap50"] = 100 * of_class.ap50;
    entry["ap50_95"] = 100 * of_class.ap;
    json["classes"].push_back(entry);
  }
  return json;
}

Json json_of(const Correlation& found) {
  return {{"pairs", found.pairs},
          {"spearman", found.spearman},
          {"pearson", found.pearson},
          {"embedding", found.embedding}};
}

Json json_of(const SimilarOutput& output) {
  const metrics::Similarity& found = output.similarity;
  const bool is_equal = std::isinf(found.snr_db) && found.snr_db > 0;
  return {{"output", output.output},
          {"samples", found.samples},
          {"cosine", found.cosine},
          {"snr_db", is_equal ? Json("inf") : Json(found.snr_db)},
          {"largest_difference", found.largest_difference},
          {"same_top1", found.same_top1 ? Json(100 * *found.same_top1) : Json(nullptr)},
          {"other_shapes", found.other_shapes}};
}

}  // namespace

std::string evaluation_as_text(const Evaluation& evaluation) {
  std::string text;
  const auto line = [](const auto& found) { return line_of(found); };
  if (evaluation.model && evaluation.reference) {
    text += fmt::format("model      {}\n", std::visit(line, *evaluation.model));
    text += fmt::format("--against  {}\n", std::visit(line, *evaluation.reference));
  } else if (evaluation.model) {
    text += std::visit(line, *evaluation.model) + "\n";
  }
  if (evaluation.model)
    text += std::visit([](const auto& found) { return note_of(found); }, *evaluation.model);
  if (!evaluation.outputs.empty())
    text += (text.empty() ? "" : "\n") + similarity_table(evaluation.outputs);
  if (evaluation.agreement)
    text += fmt::format("similarities of samples: {}; {}", line_of(*evaluation.agreement),
                        note_of(*evaluation.agreement));
  return text;
}

std::string evaluation_as_json(const Evaluation& evaluation) {
  const auto as_json = [](const auto& found) { return json_of(found); };
  Json json = Json::object();
  if (evaluation.model) json = std::visit(as_json, *evaluation.model);
  if (evaluation.reference) json["against"] = std::visit(as_json, *evaluation.reference);
  if (!evaluation.outputs.empty()) {
    if (!json.contains("samples")) json["samples"] = evaluation.outputs.front().similarity.samples;
    json["outputs"] = Json::array();
    for (const SimilarOutput& output : evaluation.outputs)
      json["outputs"].push_back(json_of(output));
  }
  if (evaluation.agreement) json["similarities"] = json_of(*evaluation.agreement);
  return json_text(json);
}

}  // namespace sparsebit::cli
