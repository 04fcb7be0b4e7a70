#include "cli/activation_check.h"

#include "sparsebit/fx/resolve.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <set>

namespace sparsebit::cli {
namespace {

constexpr int64_t kSamples = 8;

/// Layers with weights, and what clips their results.
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

bool is_constant(const at::Tensor& x) {
  return x.is_floating_point() && x.numel() > 1 && x.min().item<double>() == x.max().item<double>();
}

std::string dead_layers_text(const std::vector<const fx::Node*>& layers,
                             const std::vector<const fx::Node*>& dead, int64_t samples) {
  // A few dead layers deep inside are no sign of wrong inputs.
  const bool at_start = !dead.empty() && (dead.front() == layers.front() ||
                                          (layers.size() > 1 && dead.front() == layers[1]));
  if (!at_start && dead.size() * 4 <= layers.size()) return "";
  return fmt::format(
      "{} of {} layers give one number for all of {} samples, the first is '{}': is the data, or "
      "its preprocessing, right?",
      dead.size(), layers.size(), samples, dead.front()->name());
}

std::string output_text(const at::Tensor& output, size_t index, int64_t samples) {
  if (!output.is_floating_point() || output.numel() == 0) return "";
  if (!at::isfinite(output).all().item<bool>())
    return fmt::format("output {} of the float model has NaN or infinities", index);
  const bool by_sample = samples > 1 && output.dim() > 1 && output.size(0) == samples;
  if (!by_sample || !output.eq(output.narrow(0, 0, 1)).all().item<bool>()) return "";
  return fmt::format(
      "output {} of the float model is the same for all of {} samples: is the data, or its "
      "preprocessing, right?",
      index, samples);
}

}  // namespace

std::vector<std::string> activation_warnings(quant::QuantModel& model, const PreparedData& data) {
  const std::vector<const fx::Node*> layers = layers_of(model.module());
  const PreparedData::Batch batch = data.batch(0, data.at_most(kSamples, model.fixed_batch()));
  std::vector<const fx::Node*> dead;
  fx::Taps taps{.nodes = layers, .see = [&](const fx::Node& node, const fx::Value& value) {
                  if (value.is_tensor() && is_constant(value.tensor())) dead.push_back(&node);
                }};
  const fx::Value result =
      model.make_executor(fx::RunMode::Inference)->run(values_of(batch.inputs), taps);
  std::vector<std::string> sentences;
  const auto say = [&](std::string text) {
    if (!text.empty()) sentences.push_back(std::move(text));
  };
  if (!dead.empty()) say(dead_layers_text(layers, dead, batch.size));
  const std::vector<fx::Value> outputs =
      result.is_sequence() ? result.items() : std::vector{result};
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].is_tensor()) say(output_text(outputs[i].tensor(), i, batch.size));
  return sentences;
}

}  // namespace sparsebit::cli
