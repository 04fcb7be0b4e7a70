#pragma once

#include "cli/data_options.h"
#include "cli/model_runner.h"

#include "sparsebit/core/progress.h"

#include <cstdint>
#include <string>

namespace sparsebit::cli {

/// How often a classifier is right.
struct Accuracy {
  int64_t samples = 0;
  int64_t first = 0;       ///< the label has the highest score
  int64_t among_five = 0;  ///< it is one of the five highest
  int64_t classes = 0;     ///< scores that the model gives

  double top1() const;  ///< percent
  double top5() const;
};

/// Of the first output, which has a score for each class.
/// @param most  so many samples at most, the first ones; 0 = all of them.
/// Throws InvalidArgument when there are no labels, or the model gives no scores for them.
Accuracy measure_accuracy(ModelRunner& model, const PreparedData& data,
                          const ProgressOptions& progress, int64_t most = 0);

/// What is said of a float model that is hardly better than chance; empty for others.
std::string near_chance_warning(const Accuracy& accuracy);

}  // namespace sparsebit::cli
