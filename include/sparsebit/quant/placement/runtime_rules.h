#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/resolve.h"

#include <string>
#include <vector>

namespace sparsebit::quant {

/// How a runtime computes an operator with integers.
enum class IntegerForm {
  Layer,    ///< sums of features times constant weights
  Product,  ///< sums of features times features
  Scaling,  ///< integers in, integers of another scale out: addition, averages, tables of functions
  Joining,  ///< puts integers of one scale beside each other
  Passing,  ///< copies integers, so that the result has the scale of the input
  Clipping  ///< what the rounding behind it does anyway, so that nothing is left to compute
};

struct RuntimeRule {
  IntegerForm form;
  std::vector<std::string> inputs = {"input"};  ///< arguments that are read as integers
  /// Whether it computes with integers only if its result is integers as well.
  bool needs_integer_result = true;
};

/// What a runtime does with the operators of the vocabulary, by canonical name.
struct RuntimeRules {
  Registry<RuntimeRule> rules;
  /// Operators that could be integers somewhere, and why they are better left alone.
  Registry<std::string> floats;
};

/// ONNX Runtime's CPU provider, see docs/reference/onnxruntime.md for where each rule comes from.
const RuntimeRules& onnxruntime_rules();

/// Why it computes this call with floats whatever is around it: there is no integer kernel for the
/// operator, or none for these arguments. Empty when it can compute it with integers.
std::string onnxruntime_refuses(const fx::OperatorCall& call);

}  // namespace sparsebit::quant
