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
};

/// By operator. Add your own before the first model is quantized.
Registry<QuantOperator>& quant_operators();

/// Whether `first` and then `second` run as one step, so that what is between them stays float.
bool run_as_one(const std::string& first, const std::string& second);

}  // namespace sparsebit::quant
