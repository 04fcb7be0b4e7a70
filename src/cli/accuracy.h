#pragma once

#include "cli/data_options.h"
#include "cli/model_runner.h"

#include "sparsebit/core/progress.h"

#include <cstdint>
#include <string>

namespace sparsebit::cli {

/// Top-1 and top-5 accuracy of a classifier, as counts.
struct Accuracy {
  int64_t samples = 0;
  int64_t first = 0;       ///< samples whose label has the highest score
  int64_t among_five = 0;  ///< samples whose label has one of the five highest scores
  int64_t classes = 0;     ///< number of scores per sample

  double top1() const;  ///< percent
  double top5() const;
};

/// Measured on the model's first output, which has to be class scores, [batch, classes].
/// @param most  use only the first `most` samples; 0 = all.
/// Throws InvalidArgument when there are no labels, or a label is out of the range of classes.
Accuracy measure_accuracy(ModelRunner& model, const PreparedData& data,
                          const ProgressOptions& progress, int64_t most = 0);

/// A warning if the accuracy is near chance, otherwise empty.
/// @param model  what the warning calls it: "the float model".
std::string near_chance_warning(const Accuracy& accuracy, const std::string& model);

}  // namespace sparsebit::cli
