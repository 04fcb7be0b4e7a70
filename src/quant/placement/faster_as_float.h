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
  bool is_clipping = false;      ///< it is omitted if its producer's output is quantized
  bool may_give_floats = false;  ///< its integer kernel can output floats at no extra cost
};

/// The time of all options in float, in picoseconds.
int64_t time_as_floats(const std::vector<IntegerOption>& options);

/// For each option, whether it is integer in the fastest division of the network. Each value is
/// converted between integers and floats at most once. Returns true for all options if that is
/// hardly slower: float parts cost exactness, because libraries add floats in different orders.
std::vector<bool> fastest_as_integers(const std::vector<IntegerOption>& options,
                                      const KernelTimes& times);

}  // namespace sparsebit::quant
