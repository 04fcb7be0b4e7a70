#pragma once

#include "cli/accuracy.h"
#include "cli/measure_detections.h"
#include "cli/measure_embeddings.h"
#include "cli/measure_similarity.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sparsebit::cli {

/// What a model is worth at its task: a classifier, a detector, or one that embeds texts.
using TaskResult = std::variant<Accuracy, DetectionAccuracy, Correlation>;

/// Everything that `sparsebit eval` found.
struct Evaluation {
  std::optional<TaskResult> model, reference;  ///< nothing: there is no truth to compare with
  std::vector<SimilarOutput> outputs = {};     ///< of the model, beside those of --against
  std::optional<Correlation> agreement = {};   ///< of embeddings with those of --against
};

std::string evaluation_as_text(const Evaluation& evaluation);
std::string evaluation_as_json(const Evaluation& evaluation);

}  // namespace sparsebit::cli
