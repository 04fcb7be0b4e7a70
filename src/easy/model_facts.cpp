#include "easy/model_facts.h"

#include "easy/file_kind.h"
#include "easy/model_inputs.h"
#include "easy/model_outputs.h"

#include "sparsebit/fx/interpreter.h"
#include "sparsebit/io/onnx_file.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>

namespace sparsebit::easy {
namespace {

std::map<std::string, std::string> metadata_of(const std::string& source) {
  std::map<std::string, std::string> metadata;
  if (!std::filesystem::is_regular_file(source) || !is_onnx_file(source)) return metadata;
  const onnx::ModelProto proto = io::load_onnx(source);
  for (const onnx::StringStringEntryProto& entry : proto.metadata_props())
    metadata[entry.key()] = entry.value();
  return metadata;
}

/// Input specs, with shapes of a zoo model's examples; their batch size is dynamic.
std::vector<data::InputSpec> specs_with_examples(const LoadedModel& model) {
  std::vector<data::InputSpec> inputs = input_specs(model);
  for (size_t i = 0; i < model.example_inputs.size() && i < inputs.size(); ++i) {
    const at::Tensor& example = model.example_inputs[i].tensor();
    std::vector<int64_t> shape = example.sizes().vec();
    if (!shape.empty()) shape.front() = -1;
    inputs[i].info = fx::TensorInfo{std::move(shape), example.scalar_type()};
  }
  return inputs;
}

/// Whether all sizes are known; the batch size may be dynamic.
bool has_sizes(const data::InputSpec& input) {
  return input.info && std::none_of(input.info->shape.begin() + !input.info->shape.empty(),
                                    input.info->shape.end(), [](int64_t size) { return size < 0; });
}

/// Output shapes from a run on random inputs; empty if the run fails.
std::vector<data::ModelFacts::Output> outputs_of_a_run(const LoadedModel& model) {
  std::vector<data::ModelFacts::Output> outputs;
  try {
    const std::vector<fx::Value> inputs = make_inputs(model, {.random = true}, 0);
    const fx::Value result =
        fx::make_interpreter(*model.module, {fx::RunMode::Inference})->run(inputs);
    for (const ModelOutput& output : flatten_outputs(*model.module, result))
      outputs.push_back({output.name, output.tensor.sizes().vec()});
  } catch (const std::exception&) {
    outputs.clear();
  }
  return outputs;
}

}  // namespace

std::function<data::ModelFacts()> facts_of(const LoadedModel& model) {
  return [&model] {
    data::ModelFacts facts = data::facts_of(*model.module);
    facts.inputs = specs_with_examples(model);
    facts.metadata = metadata_of(model.name);
    const bool has_shapes = std::none_of(facts.outputs.begin(), facts.outputs.end(),
                                         [](const auto& output) { return output.shape.empty(); });
    const bool runs = std::all_of(facts.inputs.begin(), facts.inputs.end(), has_sizes);
    if (has_shapes || !runs) return facts;
    const auto outputs = outputs_of_a_run(model);
    if (!outputs.empty()) facts.outputs = outputs;
    return facts;
  };
}

}  // namespace sparsebit::easy
