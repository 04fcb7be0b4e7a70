#include "cli/model_runner.h"

#include "easy/file_kind.h"
#include "easy/model_facts.h"
#include "easy/model_inputs.h"
#include "easy/model_outputs.h"

#include "sparsebit/core/error.h"
#include "sparsebit/export/quantized_file.h"
#include "sparsebit/fx/interpreter.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <filesystem>

namespace sparsebit::cli {

ModelRunner::ModelRunner(const std::string& source, uint64_t seed, Engine engine,
                         const std::vector<std::string>& shapes)
    : executors_(fx::make_interpreter) {
  if (std::filesystem::is_regular_file(source) && exports::is_quantized_file(source)) {
    owned_ = exports::load_quantized(source);
    simulation_ = owned_.get();
  } else {
    loaded_ = load_with_shapes(source, shapes, seed);
    loaded_.module->eval();
  }
  // The graph of a simulation has only the shapes of the example it was traced with.
  batch_ = simulation_ ? simulation_->fixed_batch() : loaded_.module->fixed_batch();
  if (engine == Engine::OnnxRuntime) load_into_onnxruntime(source);
}

ModelRunner::ModelRunner(quant::QuantModel& simulation)
    : simulation_(&simulation), batch_(simulation.fixed_batch()) {}

fx::GraphModule& ModelRunner::module() {
  return simulation_ ? simulation_->module() : *loaded_.module;
}

std::vector<data::InputSpec> ModelRunner::inputs() {
  return simulation_ ? data::inputs_of(module()) : input_specs(loaded_);
}

std::function<data::ModelFacts()> ModelRunner::facts() {
  if (!simulation_) return facts_of(loaded_);
  return [this] { return data::facts_of(module()); };
}

void ModelRunner::load_into_onnxruntime(const std::string& source) {
  SPARSEBIT_CHECK(is_onnx_file(source), InvalidArgument, source,
                  ": ONNX Runtime runs only ONNX files");
  runtime_ = std::make_unique<exports::OnnxRuntime>();
  session_ = runtime_->load(source);
}

std::map<std::string, at::Tensor> ModelRunner::named(const std::vector<at::Tensor>& inputs) {
  std::map<std::string, at::Tensor> by_name;
  const auto placeholders = module().graph().placeholders();
  for (size_t i = 0; i < inputs.size(); ++i) by_name[placeholders[i]->target()] = inputs[i];
  return by_name;
}

std::vector<at::Tensor> ModelRunner::run(const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> tensors;
  for (metrics::NamedOutput& output : run_named(inputs))
    tensors.push_back(std::move(output.tensor));
  return tensors;
}

std::vector<metrics::NamedOutput> ModelRunner::run_named(const std::vector<at::Tensor>& inputs) {
  std::vector<metrics::NamedOutput> outputs;
  if (runtime_) {
    const std::vector<at::Tensor> results = runtime_->run(session_, named(inputs));
    for (size_t i = 0; i < results.size(); ++i)
      outputs.push_back({session_.outputs.at(i), results[i]});
    return outputs;
  }
  const c10::InferenceMode no_gradients;
  const fx::Value result =
      simulation_ ? simulation_->forward(values_of(inputs))
                  : executors_(*loaded_.module, {fx::RunMode::Inference})->run(values_of(inputs));
  for (ModelOutput& output : flatten_outputs(module(), result))
    outputs.push_back({std::move(output.name), std::move(output.tensor)});
  SPARSEBIT_CHECK(!outputs.empty(), InvalidArgument, "the model has no output tensors");
  return outputs;
}

}  // namespace sparsebit::cli
