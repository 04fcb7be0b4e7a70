#include "sparsebit/fx/macs.h"

#include <ATen/ATen.h>

#include <functional>
#include <numeric>

namespace sparsebit::fx {
namespace {

int64_t product(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

const TensorInfo* info_of(const Value& value) {
  return value.is_node() && value.node().tensor_info() ? &*value.node().tensor_info() : nullptr;
}

/// Number of elements of all matrices in an argument; biases, which have one axis, do not count.
int64_t matrix_elements(const Value& weights) {
  if (weights.is_sequence()) {
    const auto& items = weights.items();
    return std::accumulate(
        items.begin(), items.end(), int64_t{0},
        [](int64_t sum, const Value& item) { return sum + matrix_elements(item); });
  }
  if (weights.is_tensor()) return weights.tensor().dim() > 1 ? weights.tensor().numel() : 0;
  const TensorInfo* info = info_of(weights);
  return info && info->shape.size() > 1 ? product(info->shape) : 0;
}

int64_t recurrent_macs(const OperatorCall& call) {
  const TensorInfo* input = info_of(call.args.values().front());
  if (!input || input->shape.empty() || input->shape.back() == 0) return 0;
  const int64_t steps = product(input->shape) / input->shape.back();
  int64_t of_step = 0;
  for (const std::string& name : call.op->recurrent_weights)
    of_step += matrix_elements(call.args[name]);
  return steps * of_step;
}

}  // namespace

int64_t multiply_accumulates(const Node& node, const OperatorCall& call,
                             const std::vector<int64_t>& weight_shape) {
  if (!call.op->recurrent_weights.empty()) return recurrent_macs(call);
  if (!node.tensor_info()) return 0;
  const int64_t results = product(node.tensor_info()->shape);
  const TensorInfo* input = info_of(call.args.values().front());
  if (call.op->multiplies_operands) {
    const TensorInfo& operand = input ? *input : *node.tensor_info();
    return operand.shape.empty() ? 0 : results * operand.shape.back();
  }
  const auto& weight = call.op->weight;
  if (!weight || weight->looks_up || weight_shape.empty() || weight_shape.front() == 0) return 0;
  const int64_t of_one = product(weight_shape) / weight_shape.front();
  if (!weight->transposed()) return results * of_one;
  return input ? product(input->shape) * of_one : 0;
}

}  // namespace sparsebit::fx
