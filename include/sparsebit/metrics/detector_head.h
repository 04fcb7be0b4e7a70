#pragma once

#include "sparsebit/metrics/boxes.h"
#include "sparsebit/metrics/named_output.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sparsebit::metrics {

/// The outputs of a detector for one image; they may have a batch axis of size 1.
struct DetectorOutputs {
  std::vector<NamedOutput> outputs;
  int64_t height = 0, width = 0;  ///< of the model's input, in pixels
};

/// Decoded boxes before thresholding and NMS.
struct Candidates {
  at::Tensor boxes;     ///< [n, 4]: left, top, right, bottom, in pixels of the model's input
  at::Tensor scores;    ///< [n]
  at::Tensor labels;    ///< [n], int64
  int64_t classes = 0;  ///< number of classes, labels are less; 0: unknown
};

/// An output format of detectors; one file in src/metrics/heads per family.
struct DetectorHead {
  std::string name;  ///< "yolov8"
  std::string form;  ///< description of its outputs, for messages and help
  std::function<bool(const DetectorOutputs&)> recognizes;
  /// Throws InvalidArgument when the outputs have a different format.
  std::function<Candidates(const DetectorOutputs&)> decode;
  bool needs_nms = true;
  bool background_is_zero = false;  ///< class 0 is the background
};

/// All heads, in the order in which recognize_head() tries them.
const std::vector<DetectorHead>& detector_heads();

/// Throws InvalidArgument, listing the known heads, when the name is unknown.
const DetectorHead& detector_head(const std::string& name);

/// The first head that recognizes the outputs. Throws InvalidArgument, listing the known heads,
/// when there is none.
const DetectorHead& recognize_head(const DetectorOutputs& outputs);

struct SelectionOptions {
  double least_score = 0.01;   ///< score threshold
  double most_overlap = 0.65;  ///< IoU threshold of NMS; see suppress_overlaps()
};

/// The detections of an image, highest scores first: candidates above the score threshold, after
/// NMS if the head needs it. At most the best 10,000 candidates are used.
std::vector<Detection> select_detections(const Candidates& candidates, const DetectorHead& head,
                                         const SelectionOptions& options);

}  // namespace sparsebit::metrics
