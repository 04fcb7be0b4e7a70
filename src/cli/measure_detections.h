#pragma once

#include "cli/data_options.h"
#include "cli/model_runner.h"

#include "sparsebit/core/progress.h"
#include "sparsebit/io/box_labels.h"
#include "sparsebit/metrics/average_precision.h"
#include "sparsebit/metrics/class_numbers.h"
#include "sparsebit/metrics/detector_head.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sparsebit::cli {

struct DetectionOptions {
  std::string head = {};           ///< a name of metrics::detector_heads(); empty: recognized
  std::string class_numbers = {};  ///< a name of metrics::class_numberings(); empty: guessed
  metrics::SelectionOptions selection = {};
};

/// How well a detector finds the objects of labelled images.
struct DetectionAccuracy {
  metrics::MeanAveragePrecision precision;
  std::string head;
  bool has_nms = false;  ///< we did it, with the overlap of the options
  metrics::ClassNumbering numbering = metrics::ClassNumbering::FromZero;
  metrics::SelectionOptions selection = {};
  int64_t unlabelled = 0;                     ///< images that the labels do not speak of, left out
  std::vector<std::string> class_names = {};  ///< empty when they are not known
};

/// Boxes are compared in pixels of the stored images. Throws InvalidArgument when the outputs are
/// not those of a detector that is known, or do not fit the labels.
DetectionAccuracy measure_detections(ModelRunner& model, const PreparedData& data,
                                     const io::BoxLabels& labels, const DetectionOptions& options,
                                     const ProgressOptions& progress);

}  // namespace sparsebit::cli
