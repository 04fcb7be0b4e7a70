#pragma once

#include "sparsebit/metrics/boxes.h"
#include "sparsebit/metrics/named_output.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sparsebit::metrics {

/// What a detector gave for one image; outputs may have a batch axis of size 1.
struct DetectorOutputs {
  std::vector<NamedOutput> outputs;
  int64_t height = 0, width = 0;  ///< of the model's input, in pixels
};

/// Boxes as a head gives them, before any is dropped.
struct Candidates {
  at::Tensor boxes;     ///< [n, 4]: left, top, right, bottom, in pixels of the model's input
  at::Tensor scores;    ///< [n]
  at::Tensor labels;    ///< [n], int64
  int64_t classes = 0;  ///< labels are below; 0 when the outputs do not tell
};

/// A form in which detectors give boxes: one file in src/metrics/heads for each family.
struct DetectorHead {
  std::string name;  ///< "yolov8"
  std::string form;  ///< its outputs, for messages and help
  std::function<bool(const DetectorOutputs&)> recognizes;
  /// Throws InvalidArgument when the outputs have another form.
  std::function<Candidates(const DetectorOutputs&)> decode;
  bool needs_nms = true;
  bool background_is_zero = false;  ///< class 0 is the background
};

/// In the order in which they are tried.
const std::vector<DetectorHead>& detector_heads();

/// Throws InvalidArgument that lists the known ones.
const DetectorHead& detector_head(const std::string& name);

/// The first head that recognizes the outputs. Throws InvalidArgument that lists the forms that are
/// known.
const DetectorHead& recognize_head(const DetectorOutputs& outputs);

struct SelectionOptions {
  double least_score = 0.01;   ///< detections need more
  double most_overlap = 0.65;  ///< of two boxes of a class (IoU); see suppress_overlaps()
};

/// The detections of an image: candidates with a high score, after NMS where the head needs it,
/// highest scores first. Of more than 10,000 candidates the best 10,000 are looked at.
std::vector<Detection> select_detections(const Candidates& candidates, const DetectorHead& head,
                                         const SelectionOptions& options);

}  // namespace sparsebit::metrics
