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

/// The result of a classifier, a detector, or a text embedding model.
using TaskResult = std::variant<Accuracy, DetectionAccuracy, Correlation>;

/// The results of `sparsebit eval`.
struct Evaluation {
  std::optional<TaskResult> model, reference;  ///< nothing: no labels or scores
  std::vector<SimilarOutput> outputs = {};     ///< compared with those of --against
  std::optional<Correlation> agreement = {};   ///< embeddings compared with those of --against
};

std::string evaluation_as_text(const Evaluation& evaluation);
std::string evaluation_as_json(const Evaluation& evaluation);

}  // namespace sparsebit::cli
