#pragma once

#include "sparsebit/fx/module.h"
#include "sparsebit/quant/config/qconfig.h"

#include <string>
#include <vector>

namespace sparsebit::exports {

/// A way to divide a model into integers and floats, and how long it takes in ONNX Runtime.
struct PlacementTime {
  std::string name;  ///< "integers everywhere", "float where faster", "float"
  bool float_where_faster = false;
  bool has_integers = true;
  double milliseconds = 0;  ///< of the fastest run, one thread
};

/// What was measured on this machine.
struct MeasuredPlacement {
  std::vector<PlacementTime> ways;  ///< those with integers, then "float"
  bool float_where_faster = false;  ///< what SCHEDULE.FLOAT_WHERE_FASTER is best set to here

  const PlacementTime& chosen() const;
  const PlacementTime& of_float() const { return ways.back(); }
};

/// Quantizes the model with the example alone in each way, and times the files in turns in ONNX
/// Runtime: what the table of kernel times of a platform guesses, measured. Throws Unsupported when
/// ONNX Runtime is not there or the config's platform does not run in it.
MeasuredPlacement measure_placements(fx::Module& model, const quant::QConfig& config,
                                     const std::vector<fx::Value>& example, double seconds = 6);

}  // namespace sparsebit::exports
