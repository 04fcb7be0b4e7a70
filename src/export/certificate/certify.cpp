#include "export/certificate/difference_meter.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/sha256.h"
#include "sparsebit/export/certificate.h"
#include "sparsebit/export/onnxruntime.h"
#include "sparsebit/frontends/onnx.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/io/onnx_file.h"
#include "sparsebit/io/onnx_tensor.h"
#include "sparsebit/quant/kernels/onnxruntime_kernels.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
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

/// With the float arithmetic of the simulation, so that the two can be compared to the bit.
Tensors run_here(fx::Executor& executor, const Tensors& inputs) {
  Tensors results;
  collect(executor.run({inputs.begin(), inputs.end()}), results);
  return results;
}

OnnxRuntime::Tensors by_name(const OrtSession& session, const Tensors& inputs) {
  SPARSEBIT_CHECK(session.inputs.size() == inputs.size(), InvalidModel, "the file has ",
                  session.inputs.size(), " inputs, and ", inputs.size(), " are given");
  OnnxRuntime::Tensors named;
  for (size_t i = 0; i < inputs.size(); ++i) named[session.inputs[i]] = inputs[i];
  return named;
}

/// The outputs of a file, and the scale of those that come out of DequantizeLinear.
struct Output {
  std::string name;
  double scale = 0;
};

std::vector<Output> outputs_of(const onnx::ModelProto& model) {
  std::map<std::string, std::string> scales;  // by the value they belong to
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.op_type() == "DequantizeLinear") scales[node.output(0)] = node.input(1);
  }
  std::map<std::string, const onnx::TensorProto*> constants;
  for (const onnx::TensorProto& tensor : model.graph().initializer())
    constants[tensor.name()] = &tensor;
  std::vector<Output> outputs;
  for (const onnx::ValueInfoProto& output : model.graph().output()) {
    outputs.push_back({output.name()});
    const auto scale = scales.find(output.name());
    const auto constant = scale == scales.end() ? constants.end() : constants.find(scale->second);
    if (constant == constants.end()) continue;
    onnx::TensorProto copy = *constant->second;
    io::ExternalData none;
    const at::Tensor number = io::take_tensor(copy, none);
    if (number.numel() == 1) outputs.back().scale = number.item<double>();
  }
  return outputs;
}

/// What kind of quantized file it is.
struct FileKind {
  bool has_pairs = false;
  bool has_integer_operators = false;  ///< QLinearConv and the like
  std::string backend = {};            ///< as `sparsebit quantize` noted it

  /// What it was made for, as far as is known.
  const platforms::Platform* platform(const quant::QuantModel* simulation) const {
    if (simulation) return &simulation->platform();
    const platforms::PlatformPtr* known = platforms::platforms().find(backend);
    return known ? known->get() : nullptr;
  }
  /// Whether ONNX Runtime computes the same sums as we do, to the last bit.
  bool sums_are_exact(const quant::QuantModel* simulation) const {
    const platforms::Platform* known = platform(simulation);
    return !has_integer_operators && known && known->exact_sums;
  }
};

FileKind kind_of(const onnx::ModelProto& model) {
  FileKind kind;
  for (const onnx::NodeProto& node : model.graph().node()) {
    const std::string& type = node.op_type();
    kind.has_pairs = kind.has_pairs || type == "DequantizeLinear";
    kind.has_integer_operators = kind.has_integer_operators || type.starts_with("QLinear") ||
                                 type == "QGemm" || type == "MatMulIntegerToFloat";
  }
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key() == "sparsebit.backend") kind.backend = entry.value();
  }
  return kind;
}

/// What a user wants to know of the processor that measured.
std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  std::string model = "unknown", line;
  bool vnni = false;
  while (std::getline(info, line) && !line.empty()) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos)
      model = line.substr(colon + 2);
    if (line.starts_with("flags")) vnni = line.find("vnni") != std::string::npos;
  }
  return model + (vnni ? ", with VNNI" : ", without VNNI");
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

/// A way, and what was found so far.
struct Trial {
  Runner runner;
  Run run;
  std::optional<double> limit;  // nothing: not judged, or by the float model
  std::vector<DifferenceMeter> meters = {};
  std::string missing = {};  // why it cannot be computed
  bool refused = false;      // by ONNX Runtime
  bool judged = true;
};

class Certifier {
 public:
  explicit Certifier(const CertifyOptions& options) : options_(options) {
    onnx::ModelProto model = io::load_onnx(options.file);
    outputs_ = outputs_of(model);
    kind_ = kind_of(model);
    const std::string name = options.file.string();
    SPARSEBIT_CHECK(kind_.has_pairs || kind_.has_integer_operators, InvalidModel, name,
                    ": nothing in it is quantized");
    SPARSEBIT_CHECK(options.simulation || !kind_.has_integer_operators, InvalidArgument, name,
                    ": it has integer operators, which only ONNX Runtime computes, so the "
                    "simulation is needed to compare with");
    read_again_ =
        frontends::import_onnx(std::move(model), {.name = name, .folder = folder_of(options.file)});
    read_again_->eval();
    result_.processor = processor();
    const fx::Kernels* kernels = options.simulation
                                     ? quant::float_kernels(options.simulation->platform())
                                     : &quant::onnxruntime_kernels();
    executor_ = options.executors(*read_again_, {fx::RunMode::Inference, kernels});
    const Run again = [this](const Tensors& inputs) { return run_here(*executor_, inputs); };
    if (options.simulation) {
      result_.expected = "simulation";
      expected_ = [this](const Tensors& in) { return run_simulation(*options_.simulation, in); };
      const bool exact = kind_.sums_are_exact(options.simulation) || options.original.empty();
      trials_.push_back({Runner::ReadAgain, again,
                         options.most_steps ? options.most_steps
                         : exact            ? std::optional(1.)
                                            : std::nullopt});
    } else {
      result_.expected = to_string(Runner::ReadAgain);
      expected_ = again;
    }
    start_onnxruntime();
  }

  Certificate certify(const NextBatch& next) {
    const int64_t fixed = read_again_->fixed_batch();
    for (Tensors inputs = next(fixed); !inputs.empty(); inputs = next(fixed)) {
      if (result_.samples == 0) first_ = inputs;
      compare(inputs);
      for (const at::Tensor& input : inputs) {
        const at::Tensor bytes = input.contiguous();
        data_.add(bytes.data_ptr(), bytes.nbytes());
      }
      const int64_t count = inputs.front().dim() > 0 ? inputs.front().size(0) : 1;
      result_.samples += count;
      if (options_.on_samples) options_.on_samples(count);
    }
    SPARSEBIT_CHECK(result_.samples > 0, InvalidArgument, "there are no samples to certify with");
    finish();
    return std::move(result_);
  }

 private:
  /// Without it the rest is certified all the same.
  void start_onnxruntime() {
    try {
      runtime_ = std::make_unique<OnnxRuntime>();
    } catch (const Error& e) {
      for (const Runner runner : {Runner::NotOptimized, Runner::Optimized})
        result_.comparisons.push_back({.runner = runner, .missing = e.what()});
      return;
    }
    result_.onnxruntime = runtime_->version();
    std::optional<double> limit = options_.most_steps;
    if (!limit && kind_.sums_are_exact(options_.simulation)) limit = 1;
    add_session(Runner::NotOptimized, options_.file, {.optimize = "disable"}, limit);
    quantized_ = add_session(Runner::Optimized, options_.file, {}, options_.most_steps_optimized);
    const platforms::Platform* platform = kind_.platform(options_.simulation);
    trials_.back().judged = !platform || platform->runs_in_onnxruntime;
    if (!options_.original.empty())
      original_ = add_session(Runner::FloatModel, options_.original, {}, std::nullopt);
  }

  /// A file that ONNX Runtime refuses has failed; the rest is compared all the same.
  std::optional<OrtSession> add_session(Runner runner, const std::filesystem::path& file,
                                        const OrtOptions& how, std::optional<double> limit) {
    trials_.push_back({runner, {}, limit});
    try {
      const OrtSession session = runtime_->load(file, how);
      trials_.back().run = [this, session, file](const Tensors& inputs) {
        return with_context([&] { return runtime_->run(session, by_name(session, inputs)); },
                            [&] { return "in ONNX Runtime with " + file.string(); });
      };
      return session;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::InvalidModel) throw;
      trials_.back().missing = e.what();
      trials_.back().refused = true;
      return std::nullopt;
    }
  }

  void compare(const Tensors& inputs) {
    const Tensors expected = expected_(inputs);
    SPARSEBIT_CHECK(expected.size() == outputs_.size(), InvalidModel, result_.expected, " gives ",
                    expected.size(), " results, and the file has ", outputs_.size());
    for (Trial& trial : trials_) {
      if (!trial.missing.empty()) continue;
      const Tensors found = run(trial, inputs);
      if (!trial.missing.empty()) continue;
      SPARSEBIT_CHECK(found.size() == expected.size(), InvalidModel, to_string(trial.runner),
                      " gives ", found.size(), " results, and ", expected.size(), " are expected");
      if (gives_other_sizes(trial, found, expected)) continue;
      trial.meters.resize(expected.size());
      for (size_t i = 0; i < expected.size(); ++i) trial.meters[i].add(expected[i], found[i]);
    }
  }

  /// How many boxes a detector finds depends on data, so other arithmetic may find more or fewer.
  bool gives_other_sizes(Trial& trial, const Tensors& found, const Tensors& expected) const {
    if (trial.runner != Runner::FloatModel && trial.runner != Runner::Optimized) return false;
    for (size_t i = 0; i < expected.size(); ++i) {
      const bool same = found[i].sizes() == expected[i].sizes();
      if (same || found[i].dim() != expected[i].dim()) continue;
      trial.missing = c10::str("'", outputs_[i].name, "' has sizes that depend on data: it gives ",
                               found[i].sizes(), ", and ", expected[i].sizes(), " is expected");
      trial.refused = trial.runner == Runner::Optimized;
      return true;
    }
    return false;
  }

  /// Our interpreter has no kernels for operators that only ONNX Runtime knows.
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

  void finish() {
    limit_by_float_model();
    std::vector<Comparison> comparisons;
    for (const Trial& trial : trials_) comparisons.push_back(compared(trial));
    result_.comparisons.insert(result_.comparisons.begin(), comparisons.begin(), comparisons.end());
    add_sha256(result_.sha256, "file", options_.file);
    result_.sha256["data"] = data_.hex();
    measure_speed();
  }

  /// What has no limit yet may be as far as the float model, within reason.
  void limit_by_float_model() {
    constexpr double kLeast = 1, kMost = 32;
    if (!original_) return;
    const double limit = std::clamp(most_steps_of(compared(trials_.back())), kLeast, kMost);
    for (Trial& trial : trials_) {
      if (!trial.limit && trial.judged && trial.runner != Runner::FloatModel) trial.limit = limit;
    }
  }

  Comparison compared(const Trial& trial) const {
    Comparison comparison{.runner = trial.runner, .limit = trial.limit, .missing = trial.missing};
    for (size_t i = 0; i < trial.meters.size(); ++i)
      comparison.outputs.push_back(trial.meters[i].result(outputs_[i].name, outputs_[i].scale));
    comparison.passed =
        !trial.refused && (!trial.limit || most_steps_of(comparison) <= *trial.limit);
    return comparison;
  }

  static double most_steps_of(const Comparison& comparison) {
    double most = 0;
    for (const OutputDifference& output : comparison.outputs) most = std::max(most, output.of_most);
    return most;
  }

  void measure_speed() {
    if (!original_ || !quantized_ || options_.rounds == 0) return;
    Tensors one;
    const bool open = read_again_->fixed_batch() == 0;
    for (const at::Tensor& input : first_)
      one.push_back(open && input.dim() > 0 ? input.slice(0, 0, 1) : input);
    const auto times =
        runtime_->time({*original_, *quantized_},
                       {by_name(*original_, one), by_name(*quantized_, one)}, options_.rounds);
    result_.speed = MeasuredSpeed{times[0], times[1]};
  }

  const CertifyOptions& options_;
  std::vector<Output> outputs_;
  std::unique_ptr<fx::GraphModule> read_again_;
  std::unique_ptr<fx::Executor> executor_;  // of it
  std::unique_ptr<OnnxRuntime> runtime_;
  std::optional<OrtSession> quantized_, original_;
  Run expected_;
  std::vector<Trial> trials_;  // the float model is the last
  FileKind kind_;
  Tensors first_;
  Sha256 data_;
  Certificate result_;
};

}  // namespace

bool Certificate::passed() const {
  const auto is_judged = [](const Comparison& c) { return c.limit && c.missing.empty(); };
  return std::any_of(comparisons.begin(), comparisons.end(), is_judged) &&
         std::all_of(comparisons.begin(), comparisons.end(),
                     [](const Comparison& comparison) { return comparison.passed; });
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
