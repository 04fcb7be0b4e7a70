#pragma once

#include "sparsebit/metrics/boxes.h"

#include <bitset>
#include <cstdint>
#include <map>
#include <vector>

namespace sparsebit::metrics {

/// Average precision of one class.
struct ClassPrecision {
  int64_t label = 0;
  int64_t objects = 0;  ///< ground-truth boxes, without crowds
  double ap = 0;        ///< mean over IoU 0.50, 0.55, ..., 0.95
  double ap50 = 0;      ///< at IoU 0.50
};

struct MeanAveragePrecision {
  int64_t images = 0;
  double map = 0;                            ///< mean of `ap` over classes with objects
  double map50 = 0;                          ///< mean of `ap50`
  std::vector<ClassPrecision> classes = {};  ///< classes with objects, by label
};

/// Average precision by COCO's rules: the 100 detections with the highest scores per class and
/// image; each is matched to the free ground-truth box with the largest overlap; detections in
/// crowds are ignored; precision is interpolated at 101 recalls. Equals pycocotools with area =
/// all.
class AveragePrecision {
 public:
  /// Adds the detections and the ground truth of an image.
  void add(const std::vector<Detection>& found, const std::vector<TrueBox>& truth);

  /// Classes without ground-truth boxes are ignored. Throws InvalidArgument when there are no
  /// ground-truth boxes at all.
  MeanAveragePrecision result() const;

 private:
  static constexpr size_t kThresholds = 10;
  using PerThreshold = std::bitset<kThresholds>;

  struct Judged {
    double score;
    PerThreshold is_true, is_ignored;
  };
  struct ClassRecord {
    int64_t objects = 0;
    std::vector<Judged> detections;
  };

  static double threshold(size_t index);
  static void judge(size_t threshold_index, const std::vector<Detection>& found,
                    const std::vector<TrueBox>& truth, std::vector<Judged>& judged);
  static double average_precision(const ClassRecord& record, size_t threshold_index);

  int64_t images_ = 0;
  std::map<int64_t, ClassRecord> classes_;
};

}  // namespace sparsebit::metrics
