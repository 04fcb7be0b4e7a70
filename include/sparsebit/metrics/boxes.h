#pragma once

#include <cstdint>

namespace sparsebit::metrics {

/// Corners, in pixels.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double area() const { return (right - left) * (bottom - top); }
};

/// The area that two boxes share; 0 when they do not touch.
double intersection(const Box& a, const Box& b);
/// From 0 to 1; 0 when one of them has no area.
double intersection_over_union(const Box& a, const Box& b);

/// What a detector found.
struct Detection {
  Box box;
  double score = 0;
  int64_t label = 0;  ///< class, counted from 0
};

/// What is to be found.
struct TrueBox {
  Box box;
  int64_t label = 0;      ///< class, counted from 0
  bool is_crowd = false;  ///< many objects in one box; detections in it count neither way
};

}  // namespace sparsebit::metrics
