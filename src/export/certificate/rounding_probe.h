#pragma once

#include "sparsebit/fx/interpreter.h"

#include <ATen/Generator.h>

#include <unordered_map>
#include <vector>

namespace sparsebit::exports {

/// Runs a file with floats that libraries round differently changed in their last bit, at random
/// (seeded). How far its outputs then are from those of an ordinary run is what rounding alone does
/// to it: a value next to the middle between two integers becomes the other one, and deep networks
/// make more of it.
///
/// Changed are sums of products, by the last two bits of the largest of them, since sums are added
/// in any order; and results of other operators that are not exact by IEEE 754, by their own last
/// bit.
class RoundingProbe {
 public:
  /// @param file        must outlive this object, as must `kernels`, which may be null.
  /// @param exact_sums  sums of products of dequantized integers are exact in any order.
  RoundingProbe(fx::GraphModule& file, const fx::Kernels* kernels, bool exact_sums);

  /// Whether there is anything to change.
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
