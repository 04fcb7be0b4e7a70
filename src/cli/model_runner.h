#pragma once

#include "cli/data_options.h"
#include "cli/model_source.h"

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

/// What computes a model.
enum class Engine { Interpreter, OnnxRuntime };

/// Runs a model on batches: a float model, a quantized ONNX file or a simulation.
class ModelRunner {
 public:
  /// Loads what a user wrote on the command line, a simulation of 'sparsebit quantize' included.
  /// Throws InvalidArgument when ONNX Runtime is asked for anything but an ONNX file.
  /// @param shapes  of --shape.
  ModelRunner(const std::string& source, uint64_t seed, Engine engine = Engine::Interpreter,
              const std::vector<std::string>& shapes = {});
  /// A simulation as it is, which has to live as long.
  explicit ModelRunner(quant::QuantModel& simulation);

  /// All tensors that it gives, in order.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);
  /// The same with their names.
  std::vector<metrics::NamedOutput> run_named(const std::vector<at::Tensor>& inputs);

  /// How many samples it takes at once; 0 when any number will do.
  int64_t fixed_batch() const { return batch_; }
  fx::GraphModule& module();
  std::vector<data::InputSpec> inputs();
  /// For guesses of preprocessing; of a simulation only what its graph tells.
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
