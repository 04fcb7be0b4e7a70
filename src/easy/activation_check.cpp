#include "easy/activation_check.h"

#include "sparsebit/core/how_many.h"
#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

namespace sparsebit::easy {
namespace {

constexpr int64_t kSamples = 8;

/// Layers with weights, and clipping activations (relu, clamp, ...).
std::vector<const fx::Node*> layers_of(const fx::GraphModule& module) {
  static const std::set<std::string> clips = {"relu", "relu6", "clamp", "hardtanh"};
  std::vector<const fx::Node*> layers;
  for (const fx::Node& node : module.graph().nodes()) {
    const fx::Spelling* spelling = fx::find_spelling(node, module);
    if (!spelling) continue;
    const fx::Operator& op = *spelling->op;
    const bool multiplies = op.weight && !op.weight->looks_up;
    if (multiplies || clips.contains(op.row())) layers.push_back(&node);
  }
  return layers;
}

/// The range of a layer's output over all samples.
struct Extremes {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  int64_t numbers = 0;

  void add(const at::Tensor& x) {
    if (!x.is_floating_point() || x.numel() == 0) return;
    const auto [least, most] = at::aminmax(x);
    low = std::min(low, least.item<double>());
    high = std::max(high, most.item<double>());
    numbers += x.numel();
  }
  bool is_one_number() const { return numbers > 1 && low == high; }
};

/// Whether a model output is finite and differs between samples.
struct OutputSeen {
  at::Tensor first;  // the output for the first sample
  bool finite = true, same = true;

  void add(const at::Tensor& output) {
    if (!output.is_floating_point()) return;
    if (output.numel() == 0) {  // such as an empty list of boxes
      same = false;
      return;
    }
    finite = finite && at::isfinite(output).all().item<bool>();
    const bool has_rows = output.dim() > 1;
    if (!first.defined()) first = has_rows ? output.narrow(0, 0, 1) : output;
    same = same && has_rows && output.narrow(0, 0, 1).sizes() == first.sizes() &&
           output.eq(first).all().item<bool>();
  }
};

std::string dead_layers_text(const std::vector<const fx::Node*>& layers,
                             const std::vector<const fx::Node*>& dead, int64_t samples) {
  // A few constant layers deep inside a network do not mean that the inputs are wrong.
  const bool at_start = !dead.empty() && (dead.front() == layers.front() ||
                                          (layers.size() > 1 && dead.front() == layers[1]));
  if (!at_start && dead.size() * 4 <= layers.size()) return "";
  return fmt::format(
      "{} of {} layers have a constant output over all {} samples, the first is '{}': check the "
      "data and its preprocessing",
      dead.size(), layers.size(), samples, dead.front()->shown_name());
}

std::string output_text(const OutputSeen& seen, size_t index, int64_t samples) {
  if (!seen.first.defined()) return "";
  if (!seen.finite)
    return fmt::format("output {} of the float model contains NaN or infinity", index);
  if (samples < 2 || !seen.same) return "";
  return fmt::format(
      "output {} of the float model is the same for all {} samples: check the data and its "
      "preprocessing",
      index, samples);
}

}  // namespace

std::vector<std::string> activation_warnings(quant::QuantModel& model, const PreparedData& data) {
  const std::vector<const fx::Node*> layers = layers_of(model.module());
  std::unordered_map<const fx::Node*, Extremes> extremes;
  std::vector<OutputSeen> outputs;
  fx::Taps taps{.nodes = layers, .see = [&](const fx::Node& node, const fx::Value& value) {
                  if (value.is_tensor()) extremes[&node].add(value.tensor());
                }};
  const auto executor = model.make_executor(fx::RunMode::Inference);
  const int64_t samples = std::min(kSamples, data.size());
  // The smallest batches, to save memory.
  const int64_t step = std::max<int64_t>(1, model.fixed_batch());
  int64_t seen = 0;
  for (; seen < samples; seen += step) {
    const fx::Value result = executor->run(values_of(data.batch(seen, step).inputs), taps);
    const auto& values = result.is_sequence() ? result.items() : std::vector{result};
    outputs.resize(std::max(outputs.size(), values.size()));
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].is_tensor()) outputs[i].add(values[i].tensor());
  }
  std::vector<const fx::Node*> dead;
  for (const fx::Node* layer : layers)
    if (extremes[layer].is_one_number()) dead.push_back(layer);
  std::vector<std::string> sentences;
  const auto say = [&](std::string text) {
    if (!text.empty()) sentences.push_back(std::move(text));
  };
  if (!dead.empty()) say(dead_layers_text(layers, dead, seen));
  for (size_t i = 0; i < outputs.size(); ++i) say(output_text(outputs[i], i, seen));
  return sentences;
}

}  // namespace sparsebit::easy
