// Certifies quantized models of the zoo: agreement of ONNX Runtime with the simulation, and speedup
// over the float model.
//
//   export_bench [MODEL...]

#include "sparsebit/core/error.h"
#include "sparsebit/core/random.h"
#include "sparsebit/core/temp_file.h"
#include "sparsebit/core/yaml.h"
#include "sparsebit/export/certificate.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/report/coverage.h"
#include "sparsebit/zoo/zoo.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

namespace sparsebit {
namespace {

constexpr int64_t kCalibration = 8, kCompared = 8;

/// Random inputs with the shapes and types of the model's inputs; `index` is the seed.
std::vector<at::Tensor> sample(const zoo::Example& example, int64_t index) {
  const Random random(static_cast<uint64_t>(index) + 1);
  std::vector<at::Tensor> inputs;
  for (const fx::Value& value : example.inputs) {
    const auto generator = random.fork(std::to_string(inputs.size())).generator();
    const at::Tensor numbers = at::empty_like(value.tensor());
    inputs.push_back(numbers.is_floating_point() ? numbers.normal_(0, 1, generator)
                                                 : numbers.random_(0, 2, generator));
  }
  return inputs;
}

/// Runs the model in training mode to set the batch norms' statistics, as in a trained model.
void settle_norms(fx::GraphModule& module, const zoo::Example& example) {
  constexpr int64_t kRuns = 20;
  const at::NoGradGuard no_gradients;
  module.train();
  fx::Interpreter interpreter(module);
  for (int64_t i = 0; i < kRuns; ++i) {
    const auto inputs = sample(example, kCalibration + kCompared + i);
    interpreter.run({inputs.begin(), inputs.end()});
  }
  module.eval();
}

quant::QuantModel quantized(fx::GraphModule& module, const zoo::Example& example) {
  const quant::QConfig config = quant::default_qconfig(platforms::find_platform("onnxruntime"));
  quant::QuantModel model(module, config, example.inputs);
  model.prepare_calibration();
  for (int64_t i = 0; i < kCalibration; ++i) {
    const auto inputs = sample(example, i);
    model.forward({inputs.begin(), inputs.end()});
  }
  model.calc_qparams();
  model.set_quant({.weights = true, .activations = true});
  return model;
}

void measure(const std::string& name) {
  const zoo::Example example = zoo::make(name);
  const auto traced = fx::Tracer().trace(*example.model);
  settle_norms(*traced, example);
  quant::QuantModel model = quantized(*traced, example);
  fx::record_shapes(*traced, example.inputs);
  const TempFile original(".onnx"), file(".onnx");
  exports::export_onnx(*traced, original.path(), {.opset = 17});
  exports::export_onnx(model, file.path(), {.opset = 17});
  int64_t next = kCalibration;
  const exports::Certificate certificate =
      exports::certify({.file = file.path(), .original = original.path(), .simulation = &model},
                       [&](int64_t) -> std::vector<at::Tensor> {
                         return next < kCalibration + kCompared ? sample(example, next++)
                                                                : std::vector<at::Tensor>();
                       });
  SPARSEBIT_CHECK(certificate.speed, Unsupported, certificate.comparisons.back().missing);
  const report::Coverage coverage = report::coverage_of(model);
  double within = 1, steps = 0, steps_optimized = 0;
  for (const auto& output : certificate.find(exports::Runner::NotOptimized)->outputs) {
    within = std::min(within, output.within_step);
    steps = std::max(steps, output.of_most);
  }
  for (const auto& output : certificate.find(exports::Runner::Optimized)->outputs)
    steps_optimized = std::max(steps_optimized, output.of_most);
  fmt::print("{:<14} {:>9.2f} % {:>9.2g} {:>11.2g} {:>11.1f} % {:>9.2f} {:>9.2f} {:>7.2f}\n", name,
             100 * within, steps, steps_optimized, 100 * coverage.share_of_macs(),
             certificate.speed->original.wall.minimum, certificate.speed->quantized.wall.minimum,
             certificate.speed->ratio());
  std::fflush(stdout);
}

void run(std::vector<std::string> names) {
  if (names.empty())
    names = {"resnet18", "resnet50", "mobilenet_v2", "squeezenet1_1", "yolo", "deit_tiny", "bert"};
  fmt::print("{:<14} {:>11} {:>9} {:>11} {:>13} {:>9} {:>9} {:>7}\n", "model", "<= 1 step",
             "99.9 %", "optimized", "int8 MACs", "float ms", "int8 ms", "ratio");
  for (const std::string& name : names) measure(name);
}

}  // namespace
}  // namespace sparsebit

int main(int argc, char** argv) {
  try {
    sparsebit::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
