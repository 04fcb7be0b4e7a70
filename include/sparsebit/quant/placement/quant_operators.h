#pragma once

#include "sparsebit/core/registry.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sparsebit::quant {

/// What of an operator's arguments can be quantized. Everything is by canonical name: module,
/// function and method forms are the same operator.
struct QuantOperator {
  std::vector<std::string> inputs = {};  ///< features: {"input"}
  std::string weight = {};               ///< empty when there is none
  int64_t weight_axis = 0;               ///< of its output channels
  /// Several features meet as equals (add, matmul): they are quantized only if there are at least
  /// two different ones.
  bool joins = false;
  /// Operators that it runs as one with when it comes right behind them, so that what is between
  /// stays float.
  std::vector<std::string> runs_with = {};
  bool only_if_asked = false;  ///< with `A.QADD.ENABLE_QUANT`
  int64_t bits = 0;            ///< of its features, whatever the config says; 0 = as it says
};

/// By operator. Add your own before the first model is quantized.
Registry<QuantOperator>& quant_operators();

}  // namespace sparsebit::quant
