#include "export/certificate/difference_meter.h"
#include "export/certificate/quantized_facts.h"
#include "export/certificate/rounding_probe.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/sha256.h"
#include "sparsebit/export/certificate.h"
#include "sparsebit/export/onnxruntime.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/quant/kernels/onnxruntime_kernels.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>

namespace sparsebit::exports {
namespace {

using Tensors = std::vector<at::Tensor>;
using Run = std::function<Tensors(const Tensors&)>;

void collect(const fx::Value& value, Tensors& tensors) {
  if (value.is_tensor()) tensors.push_back(value.tensor());
  if (!value.is_sequence()) return;
  for (const fx::Value& item : value.items()) collect(item, tensors);
}

Tensors run_simulation(quant::QuantModel& model, const Tensors& inputs) {
  const c10::InferenceMode no_gradients;
  Tensors results;
  collect(model.forward({inputs.begin(), inputs.end()}), results);
  return results;
}

/// Uses the same float kernels as the simulation, so that results can be compared bit for bit.
Tensors run_here(fx::Executor& executor, const Tensors& inputs) {
  Tensors results;
  collect(executor.run({inputs.begin(), inputs.end()}), results);
  return results;
}

/// CPU model and the instruction sets that decide the speed of int8 kernels.
std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  std::string model = "unknown", line;
  bool vnni = false, avx512 = false;
  while (std::getline(info, line) && !line.empty()) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos)
      model = line.substr(colon + 2);
    if (!line.starts_with("flags")) continue;
    vnni = line.find("vnni") != std::string::npos;
    avx512 = line.find("avx512f") != std::string::npos;
  }
  return model + (avx512 ? ", AVX-512" : ", no AVX-512") + (vnni ? ", VNNI" : ", no VNNI");
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

/// One runner and the differences measured so far.
struct Trial {
  Runner runner;
  Run run;
  std::optional<double> limit = {};  // unset: not judged, or set by set_limits()
  std::vector<DifferenceMeter> meters = {};
  std::string missing = {};  // why it is not compared
  bool refused = false;      // ONNX Runtime rejected the file, or gives other sizes
  bool judged = true;

  /// Whether it computes the same operations as the simulation, so that only rounding differs.
  bool is_of_same_arithmetic() const {
    return runner == Runner::ReadAgain || runner == Runner::NotOptimized;
  }
};

double most_steps_of(const Comparison& comparison) {
  double most = 0;
  for (const OutputDifference& output : comparison.outputs) most = std::max(most, output.of_most);
  return most;
}

class Certifier {
 public:
  explicit Certifier(const CertifyOptions& options) : options_(options) {
    onnx::ModelProto model = io::load_onnx(options.file);
    facts_ = quantized_facts(model);
    check();
    read_again_ = frontends::import_onnx(
        std::move(model), {.name = options.file.string(), .folder = folder_of(options.file)});
    read_again_->eval();
    result_.processor = processor();
    result_.is_quantized = facts_.is_quantized();
    result_.selects_boxes = facts_.selects_boxes();
    result_.without_runtime = options.without_runtime;
    const fx::Kernels* kernels = options.simulation
                                     ? quant::float_kernels(options.simulation->platform())
                                     : &quant::onnxruntime_kernels();
    executor_ = options.executors(*read_again_, {fx::RunMode::Inference, kernels});
    probe_ =
        std::make_unique<RoundingProbe>(*read_again_, kernels, facts_.sums_are_exact(platform()));
    expect();
    if (!options.without_runtime) start_onnxruntime();
  }

  Certificate certify(const NextBatch& next) {
    const int64_t fixed = read_again_->fixed_batch();
    for (Tensors inputs = next(fixed); !inputs.empty(); inputs = next(fixed)) {
      if (result_.samples == 0) first_ = inputs;
      const int64_t count = inputs.front().dim() > 0 ? inputs.front().size(0) : 1;
      compare(inputs);
      probe_rounding(inputs, count);
      for (const at::Tensor& input : inputs) {
        const at::Tensor bytes = input.contiguous();
        data_.add(bytes.data_ptr(), bytes.nbytes());
      }
      result_.samples += count;
      if (options_.on_samples) options_.on_samples(count);
    }
    SPARSEBIT_CHECK(result_.samples > 0, InvalidArgument,
                    "certify(): no samples; expected at least one");
    finish();
    return std::move(result_);
  }

 private:
  void check() const {
    const std::string name = options_.file.string();
    const quant::QuantModel* simulation = options_.simulation;
    SPARSEBIT_CHECK(
        facts_.is_quantized() || (simulation && simulation->is_float()), InvalidModel, name,
        ": no quantized nodes; expected QuantizeLinear/DequantizeLinear pairs or integer "
        "operators");
    SPARSEBIT_CHECK(simulation || !facts_.has_integer_operators, InvalidArgument, name,
                    ": the file has integer operators, which only ONNX Runtime can run; give the "
                    "simulation to compare with (--simulation)");
    SPARSEBIT_CHECK(simulation || !options_.without_runtime, InvalidArgument, name,
                    ": without ONNX Runtime, give the simulation to compare with (--simulation)");
    if (!simulation || simulation->is_float()) return;
    const auto& points = simulation->points();
    const bool is_on = std::any_of(points.begin(), points.end(),
                                   [](const auto& point) { return point.quantizer->is_enabled(); });
    SPARSEBIT_CHECK(is_on, InvalidArgument,
                    "certify(): quantization of the simulation is off, so it computes the float "
                    "model; call set_quant({.weights = true, .activations = true}) first");
  }

  /// The platform that the file was exported for; null if unknown.
  const platforms::Platform* platform() const {
    return options_.simulation ? &options_.simulation->platform() : facts_.platform();
  }

  void expect() {
    const Run again = [this](const Tensors& inputs) { return run_here(*executor_, inputs); };
    result_.expected = options_.simulation ? "simulation" : to_string(Runner::ReadAgain);
    if (!options_.simulation) {
      expected_ = again;
      return;
    }
    expected_ = [this](const Tensors& in) { return run_simulation(*options_.simulation, in); };
    trials_.push_back({.runner = Runner::ReadAgain, .run = again, .limit = options_.most_steps});
  }

  /// If ONNX Runtime is not found, the other comparisons still run.
  void start_onnxruntime() {
    try {
      runtime_ = std::make_unique<OnnxRuntime>();
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::Unsupported) throw;
      for (const Runner runner : {Runner::NotOptimized, Runner::Optimized})
        trials_.push_back({.runner = runner, .run = {}, .missing = e.what()});
      return;
    }
    result_.onnxruntime = runtime_->version();
    add_session(Runner::NotOptimized, options_.file, {.optimize = "disable"}, options_.most_steps);
    quantized_ = add_session(Runner::Optimized, options_.file, {}, options_.most_steps_optimized);
    trials_.back().judged = !platform() || platform()->runs_in_onnxruntime;
    if (!options_.original.empty())
      original_ = add_session(Runner::FloatModel, options_.original, {}, std::nullopt);
  }

  /// A quantized file that ONNX Runtime rejects fails the certificate; the other comparisons still
  /// run.
  std::optional<OrtSession> add_session(Runner runner, const std::filesystem::path& file,
                                        const OrtOptions& how, std::optional<double> limit) {
    trials_.push_back({.runner = runner, .run = {}, .limit = limit});
    try {
      const OrtSession session = runtime_->load(file, how);
      trials_.back().run = [this, session, file](const Tensors& inputs) {
        return with_context(
            [&] { return runtime_->run(session, OnnxRuntime::by_name(session, inputs)); },
            [&] { return "in ONNX Runtime with " + file.string(); });
      };
      return session;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::InvalidModel) throw;
      trials_.back().missing = e.what();
      trials_.back().refused = runner != Runner::FloatModel;  // the float model is not judged
      return std::nullopt;
    }
  }

  void compare(const Tensors& inputs) {
    const Tensors expected = expected_(inputs);
    SPARSEBIT_CHECK(expected.size() == facts_.outputs.size(), InvalidModel, result_.expected,
                    ": expected ", facts_.outputs.size(), " outputs as in the file, found ",
                    expected.size());
    Tensors deployed, of_float;
    for (Trial& trial : trials_) {
      if (!trial.missing.empty()) continue;
      const Tensors found = run(trial, inputs);
      if (!trial.missing.empty()) continue;
      if (gives_other_sizes(trial, found, expected)) continue;
      add(trial.meters, to_string(trial.runner), expected, found, outputs_of(trial.runner));
      if (trial.runner != Runner::ReadAgain && all_are_selected())
        trial.missing = "all outputs are boxes selected by NMS, whose order is not fixed";
      if (trial.runner == Runner::FloatModel) of_float = found;
      if (trial.runner == Runner::NotOptimized ||
          (trial.runner == Runner::Optimized && trial.judged))
        deployed = found;
    }
    if (!deployed.empty() && !of_float.empty())
      add(quality_, "the quantized file", of_float, deployed, Outputs::NotSelected);
  }

  /// The same kernels select the same boxes in the same order; other kernels may reorder them.
  enum class Outputs { All, NotSelected };
  static Outputs outputs_of(Runner runner) {
    return runner == Runner::ReadAgain ? Outputs::All : Outputs::NotSelected;
  }
  bool is_compared(size_t output, Outputs which) const {
    return which == Outputs::All || !facts_.outputs[output].selected;
  }
  bool all_are_selected() const {
    return std::all_of(facts_.outputs.begin(), facts_.outputs.end(),
                       [](const QuantizedOutput& output) { return output.selected; });
  }

  void add(std::vector<DifferenceMeter>& meters, const std::string& who, const Tensors& expected,
           const Tensors& found, Outputs which) const {
    SPARSEBIT_CHECK(found.size() == expected.size(), InvalidModel, who, ": expected ",
                    expected.size(), " outputs, found ", found.size());
    meters.resize(expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (is_compared(i, which)) meters[i].add(expected[i], found[i]);
    }
  }

  /// The number of boxes that a detector finds depends on data, so other kernels may find more or
  /// fewer.
  bool gives_other_sizes(Trial& trial, const Tensors& found, const Tensors& expected) const {
    if (trial.runner != Runner::FloatModel && trial.runner != Runner::Optimized) return false;
    for (size_t i = 0; i < expected.size(); ++i) {
      const bool same = found[i].sizes() == expected[i].sizes() || facts_.outputs[i].selected;
      if (same || found[i].dim() != expected[i].dim()) continue;
      trial.missing =
          c10::str("output '", facts_.outputs[i].name, "' has a data-dependent shape: expected ",
                   expected[i].sizes(), ", found ", found[i].sizes());
      trial.refused = trial.runner == Runner::Optimized;
      return true;
    }
    return false;
  }

  /// The interpreter has no kernels for operators of ONNX Runtime's own domain.
  static Tensors run(Trial& trial, const Tensors& inputs) {
    try {
      return trial.run(inputs);
    } catch (const Error& e) {
      if (trial.runner != Runner::ReadAgain || e.kind() != ErrorKind::Unsupported) throw;
      const std::string text = e.what();
      trial.missing = text.substr(0, text.find('\n'));
      return {};
    }
  }

  /// Measures what float rounding alone does to the outputs, if a comparison exceeds one step.
  void probe_rounding(const Tensors& inputs, int64_t count) {
    constexpr int64_t kEnoughSamples = 32;
    constexpr int kRuns = 4;  // several, since whether a value is rounded differently is random
    if (facts_.has_integer_operators || probed_ >= kEnoughSamples || !probe_->has_effect()) return;
    const bool differs = std::any_of(trials_.begin(), trials_.end(), [&](const Trial& trial) {
      return trial.is_of_same_arithmetic() && !trial.limit && most_steps_of(compared(trial)) > 1;
    });
    if (!differs) return;
    const Tensors unchanged = run_here(*executor_, inputs);
    for (int i = 0; i < kRuns; ++i) {
      Tensors changed;
      collect(probe_->run({inputs.begin(), inputs.end()}), changed);
      add(rounding_, "the file", unchanged, changed, Outputs::NotSelected);
    }
    probed_ += count;
  }

  void finish() {
    set_limits();
    for (const Trial& trial : trials_) result_.comparisons.push_back(compared(trial));
    add_sha256(result_.sha256, "file", options_.file);
    result_.sha256["data"] = data_.hex();
    judge_quality();
    measure_speed();
  }

  /// Default limits, see CertifyOptions::most_steps and most_steps_optimized.
  void set_limits() {
    constexpr double kRoundingTwice = 2, kLeast = 1, kMost = 32;
    if (probed_ > 0)
      result_.rounding = most_steps_of(compared_outputs(rounding_, Outputs::NotSelected));
    const double same = std::max(kLeast, kRoundingTwice * result_.rounding.value_or(0));
    std::optional<double> by_float_model;
    if (original_)
      by_float_model = std::max(result_.rounding ? same : 0.,
                                std::clamp(most_steps_of(compared(trials_.back())), kLeast, kMost));
    for (Trial& trial : trials_) {
      if (trial.limit || !trial.judged || trial.runner == Runner::FloatModel) continue;
      const bool same_arithmetic = trial.is_of_same_arithmetic() && !facts_.has_integer_operators;
      trial.limit = same_arithmetic ? same : by_float_model;
    }
  }

  Comparison compared_outputs(const std::vector<DifferenceMeter>& meters, Outputs which) const {
    Comparison comparison{.runner = Runner::ReadAgain};
    for (size_t i = 0; i < meters.size(); ++i) {
      if (!is_compared(i, which)) continue;
      comparison.outputs.push_back(
          meters[i].result(facts_.outputs[i].name, facts_.outputs[i].scale));
    }
    return comparison;
  }

  Comparison compared(const Trial& trial) const {
    Comparison comparison = compared_outputs(trial.meters, outputs_of(trial.runner));
    comparison.runner = trial.runner;
    comparison.limit = trial.limit;
    comparison.missing = trial.missing;
    comparison.passed =
        !trial.refused && (!trial.limit || most_steps_of(comparison) <= *trial.limit);
    return comparison;
  }

  void judge_quality() {
    const Comparison of_float = compared_outputs(quality_, Outputs::NotSelected);
    if (of_float.outputs.empty()) return;
    const auto worst = std::min_element(of_float.outputs.begin(), of_float.outputs.end(),
                                        [](auto& a, auto& b) { return a.snr < b.snr; });
    std::optional<double> same_top1;
    for (const OutputDifference& output : of_float.outputs) {
      if (output.answer) same_top1 = std::min(same_top1.value_or(1), *output.answer);
    }
    result_.quality = quality_of(worst->snr, same_top1, result_.samples);
  }

  /// Runs float model and file alternately until the ratios agree or the time is over.
  void measure_speed() {
    constexpr size_t kLeastRounds = 3, kEnoughRounds = 20, kMostRounds = 200;
    if (!original_ || !quantized_ || options_.speed_seconds <= 0) return;
    std::vector<RunTimes> all(2);
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(options_.speed_seconds);
    const auto enough = [&] {
      const size_t rounds = all[0].wall.size();
      return rounds >= kMostRounds || (rounds >= kLeastRounds && Clock::now() >= end) ||
             (rounds >= kEnoughRounds && result_.speed->is_stable());
    };
    int rounds = 1;  // a first run to see how long it takes
    while (!enough()) {
      append(all, timed(rounds));
      result_.speed = measured_speed(all[0], all[1]);
      const double round =
          result_.speed->original.wall.median + result_.speed->quantized.wall.median;
      const double left = std::chrono::duration<double, std::milli>(end - Clock::now()).count();
      rounds = static_cast<int>(std::clamp(left / round, 2., 10.));
    }
  }

  /// Times runs with one sample.
  std::vector<RunTimes> timed(int rounds) {
    Tensors one;
    const bool open = read_again_->fixed_batch() == 0;
    for (const at::Tensor& input : first_)
      one.push_back(open && input.dim() > 0 ? input.slice(0, 0, 1) : input);
    return runtime_->time(
        {*original_, *quantized_},
        {OnnxRuntime::by_name(*original_, one), OnnxRuntime::by_name(*quantized_, one)}, rounds);
  }

  static void append(std::vector<RunTimes>& all, const std::vector<RunTimes>& more) {
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].wall.insert(all[i].wall.end(), more[i].wall.begin(), more[i].wall.end());
      all[i].cpu.insert(all[i].cpu.end(), more[i].cpu.begin(), more[i].cpu.end());
    }
  }

  const CertifyOptions& options_;
  QuantizedFacts facts_;
  std::unique_ptr<fx::GraphModule> read_again_;
  std::unique_ptr<fx::Executor> executor_;  // of read_again_
  std::unique_ptr<RoundingProbe> probe_;    // of read_again_
  std::unique_ptr<OnnxRuntime> runtime_;
  std::optional<OrtSession> quantized_, original_;
  Run expected_;
  std::vector<Trial> trials_;              // the float model, if any, is the last
  std::vector<DifferenceMeter> quality_;   // deployed file against float model
  std::vector<DifferenceMeter> rounding_;  // rounding probe against the imported file
  int64_t probed_ = 0;                     // samples run by the rounding probe
  Tensors first_;
  Sha256 data_;
  Certificate result_;
};

}  // namespace

Verdict Certificate::verdict() const {
  const auto is_judged = [](const Comparison& c) { return c.limit && c.missing.empty(); };
  if (!std::all_of(comparisons.begin(), comparisons.end(), [](const auto& c) { return c.passed; }))
    return Verdict::Failed;
  if (!without_runtime && onnxruntime.empty()) return Verdict::Incomplete;
  const bool any = std::any_of(comparisons.begin(), comparisons.end(), is_judged);
  return any ? Verdict::Passed : Verdict::Incomplete;
}

const Comparison* Certificate::find(Runner runner) const {
  const auto it =
      std::find_if(comparisons.begin(), comparisons.end(),
                   [&](const Comparison& comparison) { return comparison.runner == runner; });
  return it == comparisons.end() ? nullptr : &*it;
}

void add_sha256(std::map<std::string, std::string>& sums, const std::string& what,
                const std::filesystem::path& model) {
  for (const std::filesystem::path& file : io::model_files(model)) {
    const std::string name = file.lexically_relative(folder_of(model)).string();
    sums[file == model ? what : what + "/" + name] = sha256_of_file(file);
  }
}

Certificate certify(const CertifyOptions& options, const NextBatch& next) {
  return Certifier(options).certify(next);
}

}  // namespace sparsebit::exports
