#include "quant/placement/kernel_times.h"

#include "sparsebit/fx/macs.h"
#include "sparsebit/quant/regions/node_parts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace sparsebit::quant {
namespace {

using fx::Node;
using platforms::KernelTime;

int64_t elements(const Node& value) {
  if (!value.tensor_info()) return 0;
  const auto& shape = value.tensor_info()->shape;
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

int64_t picoseconds(double nanoseconds) { return std::llround(nanoseconds * 1000); }

int64_t time_of(const KernelTime& time, int64_t macs, int64_t elements) {
  return picoseconds(time.per_mac * static_cast<double>(macs) +
                     time.per_element * static_cast<double>(elements));
}

std::string convolution_name(int64_t groups, const std::vector<int64_t>& weight_shape) {
  if (groups > 1 && weight_shape[1] > 1) return "conv_grouped";
  if (groups > 1) return weight_shape[0] == groups ? "conv_depthwise" : "conv_multiplied";
  const bool pointwise = std::all_of(weight_shape.begin() + 2, weight_shape.end(),
                                     [](int64_t size) { return size == 1; });
  return pointwise ? "conv_pointwise" : "conv";
}

}  // namespace

std::string kernel_name(const fx::OperatorCall& call, const std::vector<int64_t>& weight_shape) {
  const bool convolves = call.args.has("groups") && weight_shape.size() > 2;
  if (convolves) return convolution_name(call.args.integer("groups"), weight_shape);
  return call.op->multiplies_operands ? "product" : call.op->row();
}

NodeTime KernelTimes::of(const Node& node, const fx::OperatorCall& call) const {
  const std::vector<int64_t> weight = weight_shape(call, module_);
  const auto cost = costs_.kernels.find(kernel_name(call, weight));
  if (cost == costs_.kernels.end()) return {};
  const int64_t macs = fx::multiply_accumulates(node, call, weight);
  int64_t numbers = elements(node);
  for (const Node* input : node.inputs()) {
    if (input->op() != fx::Opcode::GetAttr) numbers = std::max(numbers, elements(*input));
  }
  return {time_of(cost->second.as_integer, macs, numbers),
          time_of(cost->second.as_float, macs, numbers),
          picoseconds(cost->second.before_quantize * static_cast<double>(numbers))};
}

int64_t KernelTimes::to_quantize(const Node& value) const {
  return picoseconds(costs_.quantize * static_cast<double>(elements(value)));
}

int64_t KernelTimes::to_dequantize(const Node& value) const {
  return picoseconds(costs_.dequantize * static_cast<double>(elements(value)));
}

int64_t KernelTimes::shortest_network() const { return picoseconds(costs_.shortest_network); }

}  // namespace sparsebit::quant
