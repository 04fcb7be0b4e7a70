#pragma once

#include <cstdint>

namespace sparsebit::metrics {

/// Corners, in pixels.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double area() const { return (right - left) * (bottom - top); }
};

/// The area of the intersection of two boxes; 0 when they do not overlap.
double intersection(const Box& a, const Box& b);
/// IoU, from 0 to 1; 0 when a box has no area.
double intersection_over_union(const Box& a, const Box& b);

/// A detected object.
struct Detection {
  Box box;
  double score = 0;
  int64_t label = 0;  ///< class, counted from 0
};

/// A ground-truth object.
struct TrueBox {
  Box box;
  int64_t label = 0;      ///< class, counted from 0
  bool is_crowd = false;  ///< many objects in one box; detections in it are ignored
};

}  // namespace sparsebit::metrics
