#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/platforms/platform.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sparsebit::quant {

/// How long a node takes, in picoseconds: whole numbers, so that sums do not depend on their order.
struct NodeTime {
  int64_t as_integer = 0, as_float = 0;
  int64_t before_quantize = 0;  ///< more than as_float if its result is quantized
};

/// The row of a platform's costs: `conv`, `conv_pointwise` (1x1), `conv_depthwise` (a channel to a
/// channel), `conv_multiplied` (depthwise, several channels from each), `conv_grouped`, `linear`,
/// `product`, else the operator's own row.
std::string kernel_name(const fx::OperatorCall& call, const std::vector<int64_t>& weight_shape);

/// Times of nodes by a platform's costs and the shapes that are recorded in the graph. What has no
/// row or no shape takes no time.
class KernelTimes {
 public:
  KernelTimes(const fx::GraphModule& module, const platforms::KernelCosts& costs)
      : module_(module), costs_(costs) {}

  NodeTime of(const fx::Node& node, const fx::OperatorCall& call) const;
  int64_t to_quantize(const fx::Node& value) const;
  int64_t to_dequantize(const fx::Node& value) const;
  int64_t shortest_network() const;  ///< picoseconds; shorter ones are not judged

 private:
  const fx::GraphModule& module_;
  const platforms::KernelCosts& costs_;
};

}  // namespace sparsebit::quant
