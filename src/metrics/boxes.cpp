#include "sparsebit/metrics/boxes.h"

#include <algorithm>

namespace sparsebit::metrics {

double intersection(const Box& a, const Box& b) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : 0;
}

double intersection_over_union(const Box& a, const Box& b) {
  const double shared = intersection(a, b);
  const double both = a.area() + b.area() - shared;
  return shared > 0 && both > 0 ? shared / both : 0;
}

}  // namespace sparsebit::metrics
