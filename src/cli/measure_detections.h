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
  std::string head = {};           ///< a name of metrics::detector_heads(); empty: detected
  std::string class_numbers = {};  ///< a name of metrics::class_numberings(); empty: guessed
  metrics::SelectionOptions selection = {};
};

/// mAP of a detector on labelled images, with the settings of the measurement.
struct DetectionAccuracy {
  metrics::MeanAveragePrecision precision;
  std::string head;
  bool has_nms = false;  ///< NMS was done here, with the IoU of `selection`
  metrics::ClassNumbering numbering = metrics::ClassNumbering::FromZero;
  metrics::SelectionOptions selection = {};
  int64_t unlabelled = 0;                     ///< images without labels, skipped
  std::vector<std::string> class_names = {};  ///< empty if unknown
};

/// Measures mAP, with boxes in pixels of the stored images. Throws InvalidArgument when the outputs
/// are not those of a known detector head, or do not fit the labels.
DetectionAccuracy measure_detections(ModelRunner& model, const PreparedData& data,
                                     const io::BoxLabels& labels, const DetectionOptions& options,
                                     const ProgressOptions& progress);

}  // namespace sparsebit::cli
