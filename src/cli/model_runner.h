#pragma once

#include "cli/data_options.h"
#include "easy/model_source.h"

#include "sparsebit/data/model_facts.h"
#include "sparsebit/export/onnxruntime.h"
#include "sparsebit/fx/executor.h"
#include "sparsebit/metrics/named_output.h"
#include "sparsebit/quant/quant_model.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sparsebit::cli {

/// The runtime that executes a model.
enum class Engine { Interpreter, OnnxRuntime };

/// Runs a model on batches: a float model, a quantized ONNX file or a simulation.
class ModelRunner {
 public:
  /// Loads a model as written on the command line: a file, a zoo model or a simulation file. Throws
  /// InvalidArgument when ONNX Runtime is to run anything but an ONNX file.
  /// @param shapes  the values of --shape.
  ModelRunner(const std::string& source, uint64_t seed, Engine engine = Engine::Interpreter,
              const std::vector<std::string>& shapes = {});
  /// Wraps a simulation; keeps a reference to it.
  explicit ModelRunner(quant::QuantModel& simulation);

  /// Runs the model and returns its output tensors in order.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);
  /// The same, with the names of the outputs.
  std::vector<metrics::NamedOutput> run_named(const std::vector<at::Tensor>& inputs);

  /// The fixed batch size; 0 if it is dynamic.
  int64_t fixed_batch() const { return batch_; }
  fx::GraphModule& module();
  std::vector<data::InputSpec> inputs();
  /// Facts for guessing the preprocessing; for a simulation only those of its graph.
  std::function<data::ModelFacts()> facts();

 private:
  void load_into_onnxruntime(const std::string& source);
  std::map<std::string, at::Tensor> named(const std::vector<at::Tensor>& inputs);

  std::unique_ptr<quant::QuantModel> owned_;
  quant::QuantModel* simulation_ = nullptr;  // owned_, or a caller's
  LoadedModel loaded_;
  fx::ExecutorFactory executors_;
  std::unique_ptr<exports::OnnxRuntime> runtime_;
  exports::OrtSession session_ = {};
  int64_t batch_ = 0;
};

}  // namespace sparsebit::cli
