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
#include "sparsebit/quant/runtime_arithmetic.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <fstream>
#include <memory>

namespace sparsebit::exports {
namespace {

using Tensors = std::vector<at::Tensor>;
using Run = std::function<Tensors(const Tensors&)>;

constexpr const char *kReadAgain = "file, read again", *kFloatModel = "float model";

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

Tensors run_here(fx::GraphModule& module, const Tensors& inputs) {
  fx::Interpreter interpreter(module, fx::RunMode::Inference);
  interpreter.use_kernels(quant::onnxruntime_kernels());
  Tensors results;
  collect(interpreter.run({inputs.begin(), inputs.end()}), results);
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

  bool sums_are_exact() const { return backend == "onnxruntime" && !has_integer_operators; }
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

/// One way to compute the model.
struct Way {
  std::string name;
  Run run;
  std::optional<double> limit;  // nothing: not judged
  std::vector<DifferenceMeter> meters = {};
  std::string missing = {};  // why it cannot be computed
  bool refused = false;      // by ONNX Runtime
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
    read_again_ = frontends::import_onnx(std::move(model),
                                         {.name = name, .folder = options.file.parent_path()});
    read_again_->eval();
    result_.processor = processor();
    const Run again = [this](const Tensors& inputs) { return run_here(*read_again_, inputs); };
    if (options.simulation) {
      result_.expected = "simulation";
      expected_ = [this](const Tensors& in) { return run_simulation(*options_.simulation, in); };
      ways_.push_back({kReadAgain, again, options.most_steps.value_or(1)});
    } else {
      result_.expected = kReadAgain;
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
    const std::string off = "ONNX Runtime, not optimized", on = "ONNX Runtime, optimized";
    try {
      runtime_ = std::make_unique<OnnxRuntime>();
    } catch (const Error& e) {
      for (const std::string& way : {off, on})
        result_.comparisons.push_back({.way = way, .passed = true, .missing = e.what()});
      return;
    }
    result_.onnxruntime = runtime_->version();
    std::optional<double> limit = options_.most_steps;
    if (!limit && kind_.sums_are_exact()) limit = 1;
    add_session(off, options_.file, {.optimize = "disable"}, limit);
    quantized_ = add_session(on, options_.file, {}, options_.most_steps_optimized);
    if (!options_.original.empty())
      original_ = add_session(kFloatModel, options_.original, {}, std::nullopt);
  }

  /// A file that ONNX Runtime refuses has failed; the rest is compared all the same.
  std::optional<OrtSession> add_session(const std::string& way, const std::filesystem::path& file,
                                        const OrtOptions& how, std::optional<double> limit) {
    ways_.push_back({way, {}, limit});
    try {
      const OrtSession session = runtime_->load(file, how);
      ways_.back().run = [this, session, file](const Tensors& inputs) {
        return with_context([&] { return runtime_->run(session, by_name(session, inputs)); },
                            [&] { return "in ONNX Runtime with " + file.string(); });
      };
      return session;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::InvalidModel) throw;
      ways_.back().missing = e.what();
      ways_.back().refused = true;
      return std::nullopt;
    }
  }

  void compare(const Tensors& inputs) {
    const Tensors expected = expected_(inputs);
    SPARSEBIT_CHECK(expected.size() == outputs_.size(), InvalidModel, result_.expected, " gives ",
                    expected.size(), " results, and the file has ", outputs_.size());
    for (Way& way : ways_) {
      if (!way.missing.empty()) continue;
      const Tensors found = run(way, inputs);
      if (!way.missing.empty()) continue;
      SPARSEBIT_CHECK(found.size() == expected.size(), InvalidModel, way.name, " gives ",
                      found.size(), " results, and ", expected.size(), " are expected");
      way.meters.resize(expected.size());
      for (size_t i = 0; i < expected.size(); ++i) way.meters[i].add(expected[i], found[i]);
    }
  }

  /// Our interpreter has no kernels for operators that only ONNX Runtime knows.
  static Tensors run(Way& way, const Tensors& inputs) {
    try {
      return way.run(inputs);
    } catch (const Error& e) {
      if (way.name != kReadAgain || e.kind() != ErrorKind::Unsupported) throw;
      const std::string text = e.what();
      way.missing = text.substr(0, text.find('\n'));
      return {};
    }
  }

  void finish() {
    limit_by_float_model();
    std::vector<Comparison> comparisons;
    for (const Way& way : ways_) comparisons.push_back(compared(way));
    result_.comparisons.insert(result_.comparisons.begin(), comparisons.begin(), comparisons.end());
    result_.sha256["file"] = sha256_of_file(options_.file);
    result_.sha256["data"] = data_.hex();
    measure_speed();
  }

  /// What has no limit yet may be as far as the float model, within reason.
  void limit_by_float_model() {
    constexpr double kLeast = 1, kMost = 32;
    if (!original_) return;
    const double limit = std::clamp(most_steps_of(compared(ways_.back())), kLeast, kMost);
    for (Way& way : ways_) {
      if (!way.limit && way.name != kFloatModel) way.limit = limit;
    }
  }

  Comparison compared(const Way& way) const {
    Comparison comparison{.way = way.name, .limit = way.limit, .missing = way.missing};
    for (size_t i = 0; i < way.meters.size(); ++i)
      comparison.outputs.push_back(way.meters[i].result(outputs_[i].name, outputs_[i].scale));
    comparison.passed = !way.refused && (!way.limit || most_steps_of(comparison) <= *way.limit);
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
  std::unique_ptr<OnnxRuntime> runtime_;
  std::optional<OrtSession> quantized_, original_;
  Run expected_;
  std::vector<Way> ways_;  // the float model is the last
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

Certificate certify(const CertifyOptions& options, const NextBatch& next) {
  return Certifier(options).certify(next);
}

}  // namespace sparsebit::exports
