#include "sparsebit/quant/error_profiler.h"

#include "quant/quantizers/quantizers_as_before.h"

#include "sparsebit/fx/executor.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace sparsebit::quant {
namespace {

using fx::Node;

at::Tensor exact(const at::Tensor& tensor) { return tensor.detach().to(at::kDouble).flatten(); }

class Profiler {
 public:
  Profiler(QuantModel& model, const ErrorMeasure& measure) : model_(model), measure_(measure) {
    for (const QuantPoint& point : model.points()) {
      quantizers_[point.name] = point.quantizer.get();
      if (!point.quantizer->is_off_for_good())
        layers_.insert(point.consumers.begin(), point.consumers.end());
    }
  }

  std::vector<LayerError> run(const std::vector<fx::Value>& inputs, ErrorScope scope) {
    model_.set_quant({});
    if (scope == ErrorScope::Alone) {
      run_with([&](const Node& node, const fx::Value& value) { compare_alone(node, value); },
               inputs);
      return std::move(errors_);
    }
    run_with([&](const Node& node, const fx::Value& value) { keep(node, value); }, inputs);
    model_.set_quant({.weights = true, .activations = true});
    run_with([&](const Node& node, const fx::Value& value) { compare(node, value); }, inputs);
    return std::move(errors_);
  }

 private:
  template <class After>
  void run_with(const After& after, const std::vector<fx::Value>& inputs) {
    fx::Taps taps;
    for (const Node& node : model_.module().graph().nodes()) taps.nodes.push_back(&node);
    taps.see = after;
    // A new one for each run: its kernels depend on the enabled quantizers.
    executor_ = model_.make_executor(fx::RunMode::Inference);
    executor_->run(inputs, taps);
  }

  bool is_layer(const Node& node) const { return layers_.contains(node.name()); }

  void keep(const Node& node, const fx::Value& value) {
    if (is_layer(node)) values_.insert_or_assign(&node, value);
  }

  void compare(const Node& node, const fx::Value& value) {
    const auto expected = values_.find(&node);
    if (expected != values_.end()) note(node, value, expected->second);
  }

  void compare_alone(const Node& node, const fx::Value& value) {
    values_.insert_or_assign(&node, value);
    readers_[&node] = node.users().size();
    if (is_layer(node)) {
      fx::NodeCall call;
      std::tie(call.args, call.kwargs) =
          node.map_arguments([&](Node& input) { return quantized(input); });
      note(node, executor_->run_node(node, call), value);
    }
    for (const Node* input : node.inputs()) {
      const auto readers = readers_.find(input);  // missing if it cannot be computed
      if (readers != readers_.end() && --readers->second == 0)
        values_.erase(input);  // no consumer left: free the memory
    }
  }

  /// The value of a node, passed through the node's quantizer if it is one.
  fx::Value quantized(const Node& node) {
    const fx::Value& value = values_.at(&node);
    const auto it = quantizers_.find(node.name());
    if (it == quantizers_.end() || !value.is_tensor()) return value;
    it->second->set_enabled(true);
    const fx::Value result = (*it->second)(value);
    it->second->set_enabled(false);
    return result;
  }

  void note(const Node& node, const fx::Value& found, const fx::Value& expected) {
    if (!found.is_tensor() || !expected.is_tensor()) return;
    errors_.push_back({node.name(), measure_(found.tensor(), expected.tensor())});
  }

  QuantModel& model_;
  const ErrorMeasure& measure_;
  std::unique_ptr<fx::Executor> executor_;
  std::map<std::string, Quantizer*> quantizers_;  // by node
  std::set<std::string> layers_;                  // nodes with a quantized input or weight
  std::unordered_map<const Node*, fx::Value> values_;
  std::unordered_map<const Node*, size_t> readers_;  // number of consumers that have not run yet
  std::vector<LayerError> errors_;
};

}  // namespace

namespace {

/// The sum of `of_part(start, count)` over parts: converting a whole tensor to double would take
/// twice its memory.
template <class OfPart>
double sum_in_parts(int64_t size, const OfPart& of_part) {
  constexpr int64_t kAtOnce = 1 << 18;
  double sum = 0;
  for (int64_t start = 0; start < size; start += kAtOnce)
    sum += of_part(start, std::min(kAtOnce, size - start));
  return sum;
}

}  // namespace

double energy(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().reshape({-1});
  return sum_in_parts(flat.numel(), [&](int64_t start, int64_t count) {
    return flat.narrow(0, start, count).to(at::kDouble).square().sum().item<double>();
  });
}

double energy_of_difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.detach().reshape({-1}), y = b.detach().reshape({-1});
  return sum_in_parts(x.numel(), [&](int64_t start, int64_t count) {
    const at::Tensor part = x.narrow(0, start, count).to(at::kDouble);
    return (part - y.narrow(0, start, count)).square().sum().item<double>();
  });
}

double decibels(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

double mean_squared_error(const at::Tensor& quantized, const at::Tensor& expected) {
  if (expected.numel() == 0) return 0;
  return energy_of_difference(quantized, expected) / static_cast<double>(expected.numel());
}

double signal_to_noise(const at::Tensor& quantized, const at::Tensor& expected) {
  return decibels(energy(expected), energy_of_difference(quantized, expected));
}

double cosine(const at::Tensor& quantized, const at::Tensor& expected) {
  const at::Tensor a = exact(quantized), b = exact(expected);
  const double length = (a.norm() * b.norm()).item<double>();
  return length > 0 ? a.dot(b).item<double>() / length : (a.equal(b) ? 1. : 0.);
}

std::vector<LayerError> quantization_error(QuantModel& model, const std::vector<fx::Value>& inputs,
                                           const ErrorMeasure& measure, ErrorScope scope) {
  const QuantizersAsBefore restored(model.points());
  model.set_quant({.weights = true, .activations = true});  // throws unless all are calibrated
  return Profiler(model, measure).run(inputs, scope);
}

}  // namespace sparsebit::quant
