#pragma once

#include "cli/data_options.h"
#include "cli/model_runner.h"

#include "sparsebit/core/progress.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sparsebit::cli {

/// Correlation of two lists of similarities.
struct Correlation {
  int64_t pairs = 0;
  double spearman = 0, pearson = 0;  ///< NaN when all similarities are the same
  std::string embedding;             ///< the output, and how it is pooled
};

/// Embeds the two texts of each pair and correlates their cosine with the score.
/// @param first,second  the two texts of each pair.
/// @param scores  the scores of all pairs of the file, by index; the data may be a subset.
/// @param pooling  "mean" or "first"; empty: as the model's outputs suggest.
/// Throws InvalidArgument when no output is an embedding.
Correlation measure_scored_pairs(ModelRunner& model, const PreparedData& first,
                                 const PreparedData& second, const std::vector<double>& scores,
                                 const std::string& pooling, const ProgressOptions& progress);

/// Correlates the cosine similarities of all pairs of samples in two models. Uses at most the first
/// 1000 samples. Returns nothing when no output is an embedding.
std::optional<Correlation> measure_agreement(ModelRunner& model, ModelRunner& reference,
                                             const PreparedData& data, bool are_texts,
                                             const std::string& pooling,
                                             const ProgressOptions& progress);

}  // namespace sparsebit::cli
