#pragma once

#include "sparsebit/quant/quant_model.h"

#include <string>
#include <vector>

namespace sparsebit::report {

/// What ONNX Runtime will do with one step of a graph.
struct StepCoverage {
  std::string node;
  std::string op;  ///< canonical name of the operator
  int64_t multiplications =
      0;  ///< of the example that shapes were recorded with; 0 for cheap steps
  bool integers = false;
  std::string reason = {};  ///< why not, naming the place that breaks it
};

/// How much of a quantized model runs with integers.
struct Coverage {
  std::vector<StepCoverage> steps;  ///< in graph order; without those that compute nothing

  double share_of_steps() const;
  /// 1 when there is nothing to multiply.
  double share_of_multiplications() const;
  /// Those in float, most multiplications first.
  std::vector<const StepCoverage*> floats() const;
};

/// Read off the pairs in the graph by the rules in runtime_rules.h, whatever placement wanted.
Coverage coverage_in_onnxruntime(const quant::QuantModel& model);

}  // namespace sparsebit::report
