#pragma once

#include "quant/placement/kernel_times.h"

#include "sparsebit/fx/node.h"

#include <vector>

namespace sparsebit::quant {

/// A node that can compute with integers.
struct IntegerOption {
  fx::Node* node;
  std::vector<fx::Node*> operands;  ///< activations it would read as integers
  NodeTime time;
  bool is_clipping = false;      ///< it vanishes in the rounding of the node right before it
  bool may_give_floats = false;  ///< with integers it can give floats at no extra cost
};

/// What all of them take as float layers, in picoseconds.
int64_t time_as_floats(const std::vector<IntegerOption>& options);

/// Which of the options are integers when the whole network takes the least time. Between integers
/// and floats a value is converted once, however many nodes read it. All of them, if that takes
/// hardly longer: float parts cost exactness, since libraries add floats in different orders.
std::vector<bool> fastest_as_integers(const std::vector<IntegerOption>& options,
                                      const KernelTimes& times);

}  // namespace sparsebit::quant
