#include "sparsebit/fx/macs.h"

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

}  // namespace

int64_t multiply_accumulates(const Node& node, const OperatorCall& call,
                             const std::vector<int64_t>& weight_shape) {
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
