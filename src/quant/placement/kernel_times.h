#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/platforms/platform.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sparsebit::quant {

/// The time of a node in picoseconds, as integers so that sums do not depend on the order.
struct NodeTime {
  int64_t as_integer = 0, as_float = 0;
  int64_t before_quantize = 0;  ///< added to as_float if its output is quantized
};

/// The key of a platform's costs: `conv`, `conv_pointwise` (1x1), `conv_depthwise` (one output per
/// channel), `conv_multiplied` (depthwise with several outputs per channel), `conv_grouped`,
/// `linear`, `product`, else the operator's row().
std::string kernel_name(const fx::OperatorCall& call, const std::vector<int64_t>& weight_shape);

/// Times of nodes by a platform's costs and the recorded shapes. Operators without costs and nodes
/// without a shape take no time.
class KernelTimes {
 public:
  KernelTimes(const fx::GraphModule& module, const platforms::KernelCosts& costs)
      : module_(module), costs_(costs) {}

  NodeTime of(const fx::Node& node, const fx::OperatorCall& call) const;
  int64_t to_quantize(const fx::Node& value) const;
  int64_t to_dequantize(const fx::Node& value) const;
  int64_t shortest_network() const;  ///< in picoseconds; see KernelCosts

 private:
  const fx::GraphModule& module_;
  const platforms::KernelCosts& costs_;
};

}  // namespace sparsebit::quant
