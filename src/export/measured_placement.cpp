#include "sparsebit/export/measured_placement.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/temp_file.h"
#include "sparsebit/export/onnxruntime.h"
#include "sparsebit/export/quantized_onnx.h"
#include "sparsebit/quant/quant_model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>

namespace sparsebit::exports {
namespace {

/// Calibrated with one sample: ranges do not affect the speed of kernels.
void write_quantized(fx::Module& model, const quant::QConfig& config,
                     const std::vector<fx::Value>& example, const std::filesystem::path& file) {
  quant::QuantModel quantized(model, config, example);
  quantized.prepare_calibration();
  quantized.forward(example);
  quantized.calc_qparams();
  quantized.set_quant({.weights = true, .activations = true});
  export_onnx(quantized, file, {.opset = 17});
}

quant::QConfig config_of(const PlacementTime& placement, quant::QConfig config) {
  config.schedule.float_where_faster = placement.float_where_faster;
  if (!placement.has_integers) config.selection.excluded_layers = {"*"};
  return config;
}

/// Milliseconds of the fastest run of each session; sessions alternate until the time is over.
std::vector<double> fastest(OnnxRuntime& runtime, const std::vector<OrtSession>& sessions,
                            const std::vector<fx::Value>& example, double seconds) {
  constexpr int kLeastRounds = 5, kMostRounds = 100, kAtOnce = 5;
  const std::vector<at::Tensor> tensors = fx::Value(fx::List(example)).tensors();
  std::vector<OnnxRuntime::Tensors> inputs;
  for (const OrtSession& session : sessions)
    inputs.push_back(OnnxRuntime::by_name(session, tensors));
  std::vector<double> least(sessions.size(), std::numeric_limits<double>::infinity());
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int rounds = 0; rounds < kLeastRounds || (rounds < kMostRounds && Clock::now() < end);
       rounds += kAtOnce) {
    const std::vector<RunTimes> times = runtime.time(sessions, inputs, kAtOnce);
    for (size_t i = 0; i < times.size(); ++i)
      least[i] = std::min(least[i], *std::min_element(times[i].wall.begin(), times[i].wall.end()));
  }
  return least;
}

}  // namespace

const PlacementTime& MeasuredPlacement::chosen() const {
  return *std::find_if(placements.begin(), placements.end(), [&](const PlacementTime& placement) {
    return placement.float_where_faster == float_where_faster;
  });
}

MeasuredPlacement measure_placements(fx::Module& model, const quant::QConfig& config,
                                     const std::vector<fx::Value>& example, double seconds) {
  SPARSEBIT_CHECK(config.platform->runs_in_onnxruntime, Unsupported,
                  "measuring which layers run in int8 needs a platform that runs in ONNX Runtime; ",
                  config.platform->name, " does not");
  SPARSEBIT_CHECK(
      !config.platform->costs.kernels.empty(), Unsupported, config.platform->name,
      " has no `costs` (kernel times), so there are no candidates for float to measure");
  OnnxRuntime runtime;
  MeasuredPlacement measured{
      .placements = {{.name = "float where faster", .float_where_faster = true},
                     {.name = "int8 everywhere"},
                     {.name = "float", .has_integers = false}}};
  std::vector<std::unique_ptr<TempFile>> files;
  std::vector<OrtSession> sessions;
  for (const PlacementTime& placement : measured.placements) {
    files.push_back(std::make_unique<TempFile>(".onnx"));
    write_quantized(model, config_of(placement, config), example, files.back()->path());
    sessions.push_back(runtime.load(files.back()->path()));
  }
  const std::vector<double> times = fastest(runtime, sessions, example, seconds);
  for (size_t i = 0; i < times.size(); ++i) measured.placements[i].milliseconds = times[i];
  constexpr double kWorthIt = 0.95;  // required gain, since float layers cost exactness
  measured.float_where_faster = times[0] < kWorthIt * times[1];
  return measured;
}

}  // namespace sparsebit::exports
