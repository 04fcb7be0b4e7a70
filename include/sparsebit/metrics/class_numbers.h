#pragma once

#include "sparsebit/metrics/detector_head.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sparsebit::metrics {

/// How a detector numbers its classes.
enum class ClassNumbering {
  FromZero,     ///< indices into the list of classes
  FromOne,      ///< index + 1; 0 is the background
  CategoryIds,  ///< ids of the annotations' categories
  Coco91,       ///< ids of COCO's categories, 80 of 1..90
};

/// The numberings by name: zero, one, ids, coco91.
const std::vector<std::pair<std::string, ClassNumbering>>& class_numberings();
/// "classes are counted from 0"
std::string describe(ClassNumbering numbering);

/// Maps a detector's class numbers to indices into the list of classes.
class ClassNumbers {
 public:
  /// @param category_ids  ids of the annotations' classes, ascending; empty when they have none.
  /// Throws InvalidArgument for CategoryIds without ids.
  ClassNumbers(ClassNumbering numbering, const std::vector<int64_t>& category_ids);

  ClassNumbering numbering() const { return numbering_; }
  /// The class index of a label; -1 when it is not one of the classes.
  int64_t class_of(int64_t label) const;

 private:
  ClassNumbering numbering_;
  std::map<int64_t, int64_t> classes_;  // by id
};

/// Guesses the numbering of a head's classes: COCO ids for 91 classes; from zero or, with a
/// background class, from one if the number of classes equals that of the categories.
/// @param classes  see Candidates.
/// Throws InvalidArgument when the annotations have ids that the head cannot output.
ClassNumbering guess_numbering(const DetectorHead& head, int64_t classes,
                               const std::vector<int64_t>& category_ids);

}  // namespace sparsebit::metrics
