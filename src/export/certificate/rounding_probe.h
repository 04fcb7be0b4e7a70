#pragma once

#include "sparsebit/fx/interpreter.h"

#include <ATen/Generator.h>

#include <unordered_map>
#include <vector>

namespace sparsebit::exports {

/// Runs a file with intermediate floats, which libraries round differently, changed at random (with
/// a fixed seed) in their last bit. The difference of its outputs from those of an ordinary run is
/// the effect of float rounding alone: a value near the middle between two integers is quantized to
/// the other one, and deep networks amplify that.
///
/// Two kinds of results are changed: sums of products, by the last two bits of the largest of them,
/// since libraries add in different orders; and results of other operators that are not exact by
/// IEEE 754, by their own last bit.
class RoundingProbe {
 public:
  /// @param file        must outlive this object, as must `kernels`, which may be null.
  /// @param exact_sums  sums of products of dequantized integers are exact in any order, so they
  /// are
  ///     left unchanged.
  RoundingProbe(fx::GraphModule& file, const fx::Kernels* kernels, bool exact_sums);

  /// Whether any node's result is changed.
  bool has_effect() const { return !steps_.empty(); }
  fx::Value run(std::vector<fx::Value> inputs);

 private:
  enum class Change { LastBit, BitsOfLargest };

  void plan(const fx::GraphModule& file, bool exact_sums);
  void change(const fx::Node& node, fx::Value& result);

  fx::Interpreter interpreter_;
  std::unordered_map<const fx::Node*, Change> steps_;
  at::Generator generator_;
};

}  // namespace sparsebit::exports
