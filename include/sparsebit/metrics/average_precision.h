#pragma once

#include "sparsebit/metrics/boxes.h"

#include <bitset>
#include <cstdint>
#include <map>
#include <vector>

namespace sparsebit::metrics {

/// How well the boxes of one class were found.
struct ClassPrecision {
  int64_t label = 0;
  int64_t objects = 0;  ///< true boxes, crowds not counted
  double ap = 0;        ///< mean over IoU 0.50, 0.55, ..., 0.95
  double ap50 = 0;      ///< at IoU 0.50
};

struct MeanAveragePrecision {
  int64_t images = 0;
  double map = 0;                            ///< mean of `ap` over the classes that have objects
  double map50 = 0;                          ///< mean of `ap50`
  std::vector<ClassPrecision> classes = {};  ///< those that have objects, by label
};

/// Average precision by COCO's rules: of each class and image the 100 detections with the highest
/// scores; each takes the true box it overlaps most that is not taken yet; what lies in crowds is
/// ignored; precision is interpolated at 101 recalls. Gives the numbers of pycocotools for all
/// areas.
class AveragePrecision {
 public:
  /// What was found in an image, and what is there.
  void add(const std::vector<Detection>& found, const std::vector<TrueBox>& truth);

  /// Classes without a true box count nowhere. Throws InvalidArgument when there is no true box at
  /// all.
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
