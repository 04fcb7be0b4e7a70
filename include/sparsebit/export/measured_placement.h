#pragma once

#include "sparsebit/fx/module.h"
#include "sparsebit/quant/config/qconfig.h"

#include <string>
#include <vector>

namespace sparsebit::exports {

/// One placement of int8 and float layers, and its inference time in ONNX Runtime.
struct PlacementTime {
  std::string name;  ///< "int8 everywhere", "float where faster", "float"
  bool float_where_faster = false;
  bool has_integers = true;
  double milliseconds = 0;  ///< of the fastest run, one thread
};

/// Inference times of the placements, measured on this machine.
struct MeasuredPlacement {
  std::vector<PlacementTime> placements;  ///< the two int8 placements, then "float"
  bool float_where_faster = false;        ///< the faster SCHEDULE.FLOAT_WHERE_FASTER here

  const PlacementTime& chosen() const;
  const PlacementTime& of_float() const { return placements.back(); }
};

/// Quantizes the model in each placement, calibrated with the example only, and times the exported
/// files in ONNX Runtime in turns. Replaces the estimate from the platform's table of kernel times
/// by a measurement. Throws Unsupported when ONNX Runtime is not found, the config's platform does
/// not run in it, or the platform has no kernel times.
MeasuredPlacement measure_placements(fx::Module& model, const quant::QConfig& config,
                                     const std::vector<fx::Value>& example, double seconds = 6);

}  // namespace sparsebit::exports
