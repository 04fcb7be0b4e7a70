#pragma once

#include "sparsebit/core/error.h"

#include <cstdint>

namespace sparsebit::frontends {

/// An axis counted from the front. Throws InvalidModel when a tensor of this rank does not have it.
inline int64_t wrap_axis(int64_t axis, int64_t rank) {
  SPARSEBIT_CHECK(axis >= -rank && axis < rank, InvalidModel, "axis ", axis,
                  " does not exist in a tensor with ", rank, " axes");
  return axis < 0 ? axis + rank : axis;
}

}  // namespace sparsebit::frontends
