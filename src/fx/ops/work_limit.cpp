#include "sparsebit/fx/ops/work_limit.h"

#include "sparsebit/core/error.h"
#include "sparsebit/fx/ops/for_each_item.h"

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
    for_each_item(value, [&](const Value& item) {
      if (item.is_tensor() && item.tensor().defined()) sum += count_of(item.tensor());
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
    for_each_item(args[name], [&](const Value& item) {
      if (item.is_tensor() && item.tensor().dim() > 1) weights += count_of(item.tensor());
    });
  }
  return count_of(input) / static_cast<double>(std::max<int64_t>(1, input.size(-1))) * weights;
}

}  // namespace

WorkLimit::WorkLimit(double operations, std::string raised_by)
    : limit_(operations),
      raised_by_(std::move(raised_by)),
      outer_(std::exchange(innermost, this)) {}

WorkLimit::~WorkLimit() {
  innermost = outer_;
  if (outer_) outer_->done_ += done_;
}

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
  if (limit->done_ + work > limit->limit_) {
    const std::string& more = limit->raised_by_;
    throw Error(ErrorKind::TooLarge,
                fmt::format("preparing the graph needs {:.3g} operations; {:.3g} of the limit of "
                            "{:.3g} are left{}",
                            work, limit->limit_ - limit->done_, limit->limit_,
                            more.empty() ? "" : "; " + more + " raises it"));
  }
  limit->done_ += work;
}

}  // namespace sparsebit::fx
