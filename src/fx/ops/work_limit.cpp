#include "sparsebit/fx/ops/work_limit.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/memory_limit.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sparsebit::fx {
namespace {

thread_local WorkLimit* innermost = nullptr;

double count_of(const at::Tensor& tensor) { return static_cast<double>(tensor.numel()); }

double all_elements_of(const Args& args) {
  double sum = 0;
  for (const Value& value : args.values()) {
    value.map_items([&](const Value& item) {
      if (item.is_tensor() && item.tensor().defined()) sum += count_of(item.tensor());
      return item;
    });
  }
  return sum;
}

const at::Tensor* tensor_at(const Args& args, size_t index) {
  const bool is_tensor = index < args.values().size() && args.values()[index].is_tensor();
  return is_tensor ? &args.values()[index].tensor() : nullptr;
}

/// Each element of the input is multiplied with each element of the weight that reads its channel,
/// once, whatever the stride.
double layer_macs(const WeightFacts& facts, const at::Tensor& input, const at::Tensor& weight) {
  const int64_t channel_axis = input.dim() - 1 - facts.spatial_axes;
  if (facts.looks_up || weight.dim() < 2 || channel_axis < 0) return 0;
  const auto channels = static_cast<double>(std::max<int64_t>(1, input.size(channel_axis)));
  return count_of(input) * count_of(weight) / channels;
}

/// Of matrices, either of which may be broadcast over the batches of the other.
double product_macs(const at::Tensor& left, const at::Tensor& right) {
  const auto columns = right.dim() > 1 ? static_cast<double>(right.size(-1)) : 1.;
  const auto rows = left.dim() > 1 ? static_cast<double>(left.size(-2)) : 1.;
  return std::max(count_of(left) * columns, count_of(right) * rows);
}

double most_recurrent_macs(const Operator& op, const Args& args, const at::Tensor& input) {
  if (input.dim() == 0) return 0;
  double weights = 0;
  for (const std::string& name : op.recurrent_weights) {
    args[name].map_items([&](const Value& item) {
      if (item.is_tensor() && item.tensor().dim() > 1) weights += count_of(item.tensor());
      return item;
    });
  }
  return count_of(input) / static_cast<double>(std::max<int64_t>(1, input.size(-1))) * weights;
}

}  // namespace

WorkLimit::WorkLimit(double operations)
    : limit_(operations), outer_(std::exchange(innermost, this)) {}

WorkLimit::~WorkLimit() { innermost = outer_; }

double most_macs(const Operator& op, const Args& args) {
  const at::Tensor* input = tensor_at(args, 0);
  if (!input) return 0;
  if (!op.recurrent_weights.empty()) return most_recurrent_macs(op, args, *input);
  if (op.multiplies_operands) {
    const at::Tensor* other = tensor_at(args, 1);
    return other ? product_macs(*input, *other) : 0;
  }
  if (!op.weight || !args.has(op.weight->argument)) return 0;
  const Value& weight = args[op.weight->argument];
  return weight.is_tensor() ? layer_macs(*op.weight, *input, weight.tensor()) : 0;
}

void check_work(const Operator& op, const Args& args) {
  WorkLimit* const limit = innermost;
  if (!limit) return;
  const double work = all_elements_of(args) + most_macs(op, args);
  SPARSEBIT_CHECK(limit->done_ + work <= limit->limit_, TooLarge,
                  fmt::format("recording shapes needs {:.3g} operations; {:.3g} of the limit of "
                              "{:.3g} are left",
                              work, limit->limit_ - limit->done_, limit->limit_));
  limit->done_ += work;
}

void check_result_size(const Value& result) {
  if (!result.is_tensor() || !result.tensor().defined()) return;
  const at::Tensor& tensor = result.tensor();
  const int64_t item = static_cast<int64_t>(tensor.element_size());
  if (tensor.numel() <= memory_limit() / item) return;
  throw Error(ErrorKind::TooLarge,
              fmt::format("the result of shape {} has {:.4g} elements, {}; the limit is {}; "
                          "--max-memory or SPARSEBIT_MAX_MEMORY raises it",
                          c10::str(tensor.sizes()), count_of(tensor),
                          bytes_text(count_of(tensor) * static_cast<double>(item)),
                          bytes_text(static_cast<double>(memory_limit()))));
}

}  // namespace sparsebit::fx
