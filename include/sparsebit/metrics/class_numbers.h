#pragma once

#include "sparsebit/metrics/detector_head.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sparsebit::metrics {

/// How a detector numbers its classes.
enum class ClassNumbering {
  FromZero,     ///< positions in the list of classes
  FromOne,      ///< the same, after the background, which is 0
  CategoryIds,  ///< ids of the annotations' categories
  Coco91,       ///< ids of COCO's categories, of which 80 of 90 are in use
};

/// zero, one, ids, coco91
const std::vector<std::pair<std::string, ClassNumbering>>& class_numberings();
/// "classes are counted from 0"
std::string describe(ClassNumbering numbering);

/// From a detector's class numbers to positions in the list of classes.
class ClassNumbers {
 public:
  /// @param category_ids  of the annotations' classes, ascending; empty when they have none.
  /// Throws InvalidArgument for CategoryIds without ids.
  ClassNumbers(ClassNumbering numbering, const std::vector<int64_t>& category_ids);

  ClassNumbering numbering() const { return numbering_; }
  /// -1 when it is none of the classes.
  int64_t class_of(int64_t label) const;

 private:
  ClassNumbering numbering_;
  std::map<int64_t, int64_t> classes_;  // by id
};

/// What a head's numbers probably mean: 91 classes are COCO's ids, as many as there are categories
/// are counted from zero or, with a background, from one.
/// @param classes  see Candidates.
/// Throws InvalidArgument when the annotations have ids that the head cannot give.
ClassNumbering guess_numbering(const DetectorHead& head, int64_t classes,
                               const std::vector<int64_t>& category_ids);

}  // namespace sparsebit::metrics
