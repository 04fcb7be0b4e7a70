#pragma once

#include "sparsebit/fx/ops/value.h"

#include <vector>

namespace sparsebit::fx {

/// Runs a graph. The Interpreter is the reference; a faster engine implements the same interface,
/// so that what drives it (calibration, evaluation) never learns which one it has.
class Executor {
 public:
  virtual ~Executor() = default;

  /// @param inputs  one value per placeholder, in order; trailing ones may be left to defaults.
  /// @returns what the graph's output node returns.
  virtual Value run(std::vector<Value> inputs) = 0;
};

}  // namespace sparsebit::fx
