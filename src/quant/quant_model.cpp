#include "sparsebit/quant/quant_model.h"

#include "quant/calibration/batchnorm_tuning.h"
#include "quant/calibration/calibration.h"
#include "quant/calibration/samples.h"
#include "quant/calibration/scale_fits.h"
#include "quant/lowering/lowering.h"
#include "quant/lowering/split_attention.h"
#include "quant/rounding/learn_rounding.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/core/parallel.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/memory_groups.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/passes/runner.h"
#include "sparsebit/quant/kernels/onnxruntime_kernels.h"
#include "sparsebit/quant/widen_floats.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

namespace sparsebit::quant {
namespace {

using fx::Node;

std::shared_ptr<fx::GraphModule> graph_of(fx::Module& model, const QConfig& config) {
  if (const auto* graph = dynamic_cast<const fx::GraphModule*>(&model))
    return graph->clone_graph_module();
  return fx::QTracer(config.skip_trace_modules).trace(model)->clone_graph_module();
}

/// recognize_attention is off, so that each matrix product of an attention gets its own quantizers.
passes::Schedule schedule_of(const QConfig& config) {
  passes::Schedule schedule{.stages = {passes::Stage::Simplify}};
  schedule.switches["recognize_attention"] = false;
  const bool fuses = config.schedule.fuse_bn && !config.schedule.bn_tuning;
  if (fuses) schedule.stages.push_back(passes::Stage::Fuse);
  for (const auto& [name, on] : config.schedule.passes) schedule.switches[name] = on;
  schedule.extra = config.schedule.extra;
  return schedule;
}

QuantSpec spec_of(Target target, const TensorConfig& config, int64_t channel_axis) {
  return {.target = target,
          .scheme = *config.scheme,
          .bits = static_cast<int>(config.quantizer.bits),
          .restricted = config.quantizer.restricted,
          .group_size = target == Target::Weight ? config.quantizer.group_size : 0,
          .channel_axis = channel_axis,
          .scale_bits = static_cast<int>(config.quantizer.scale_bits),
          .pot_scale = config.quantizer.pot_scale,
          .range = config.quantizer.range};
}

int64_t activation_axis(const TensorConfig& config) {
  return config.observer.layout == Layout::Nlc ? 2 : 1;
}

/// The node after which to insert: the node itself or, if it is a placeholder, the last
/// placeholder.
Node& end_of_inputs(Node& node) {
  Node* end = &node;
  while (node.op() == fx::Opcode::Placeholder && end->next() &&
         end->next()->op() == fx::Opcode::Placeholder)
    end = end->next();
  return *end;
}

/// The functional spelling of an operator that also has a module.
std::string function_of(const fx::Operator& op) {
  const auto is_functional = [](const fx::Form& form) {
    return form.spelling.starts_with("torch.nn.functional.");
  };
  const auto it = std::find_if(op.forms.begin(), op.forms.end(), is_functional);
  return it == op.forms.end() ? op.forms.front().spelling : it->spelling;
}

/// Restores the shapes of the graph's inputs at the end: open sizes of the model file instead of
/// those of the example.
class InputShapesRestored {
 public:
  explicit InputShapesRestored(fx::GraphModule& module) : module_(module) {
    for (const Node* input : module.graph().placeholders())
      original_.emplace(input->name(), input->tensor_info());
  }
  InputShapesRestored(const InputShapesRestored&) = delete;
  InputShapesRestored& operator=(const InputShapesRestored&) = delete;
  ~InputShapesRestored() {
    for (Node* input : module_.graph().placeholders()) {
      const auto it = original_.find(input->name());
      if (it != original_.end() && it->second) input->set_tensor_info(it->second);
    }
  }

 private:
  fx::GraphModule& module_;
  std::map<std::string, std::optional<fx::TensorInfo>> original_;
};

}  // namespace

QuantModel::QuantModel(fx::Module& model, const QConfig& config,
                       const std::vector<fx::Value>& example)
    : config_(config), module_(graph_of(model, config)), fixed_batch_(module_->fixed_batch()) {
  module_->eval();
  {
    const InputShapesRestored restored(*module_);
    if (!example.empty()) fx::record_shapes(*module_, example);
    if (widen_floats(*module_) && !example.empty()) fx::record_shapes(*module_, example);
    passes::run_selected(*module_, config_.schedule.passes_before);
    if (split_attention(*module_) && !example.empty()) fx::record_shapes(*module_, example);
    passes::run_passes(*module_, schedule_of(config_));
    if (!example.empty()) fx::record_shapes(*module_, example);
  }
  for (const std::string& name : platform().lowering) lowerings().get(name)(*module_);
  if (!platform().scale_fit.empty()) scale_fits().get(platform().scale_fit);  // throws if unknown
  float_kernels(platform());                                                  // throws if unknown
  const Placement placement = place(*module_, config_);
  insert_quantizers(placement);
  floats_ = placement.floats;
  unused_patterns_ = placement.unused_patterns;
}

QuantModel::QuantModel() = default;
QuantModel::QuantModel(QuantModel&&) noexcept = default;
QuantModel& QuantModel::operator=(QuantModel&&) noexcept = default;
QuantModel::~QuantModel() = default;

// --- quantizers in the graph -------------------------------------------------------------------

void QuantModel::insert_quantizers(const Placement& placement) {
  insert_activation_quantizers(placement.activations);
  for (const WeightPoint& point : placement.weights) insert_weight_quantizer(point);
  module_->graph().sort_topologically();
  fx::lint(module_->graph(), *module_);
}

/// One quantizer per value, unless its consumers have different settings or the value is modified
/// in place, so that each consumer must read it through a quantizer right before it.
void QuantModel::insert_activation_quantizers(const std::vector<ActivationPoint>& points) {
  struct Made {
    TensorConfig config;
    Node* call;
    size_t point;  // index in points_
  };
  std::map<Node*, std::vector<Made>> made;  // by value
  std::map<Node*, std::string>
      shared_with;  // path of the quantizer, by the value it is shared with
  const fx::MemoryGroups memory(*module_);
  for (const ActivationPoint& point : points) {
    auto& calls = made[point.value];
    auto it = std::find_if(calls.begin(), calls.end(),
                           [&](const Made& known) { return known.config == point.config; });
    const bool changes = memory.is_written(*point.value);
    if (it == calls.end() || changes) {
      const std::string number = calls.empty() ? "" : "_" + std::to_string(calls.size());
      const std::string name = point.value->name() + "_quantizer" + number;
      Node* const key = point.shares ? point.shares : point.value;
      const std::string own = free_path(name);
      const std::string path =
          calls.empty() ? shared_with.try_emplace(key, own).first->second : own;
      const fx::Graph::InsertPoint here =
          changes ? module_->graph().inserting_before(*point.consumer)
                  : module_->graph().inserting_after(end_of_inputs(*point.value));
      Node& call = insert_activation_quantizer(point, path, name);
      it = calls.insert(calls.end(), {point.config, &call, points_.size() - 1});
    }
    point.consumer->replace_input_with(*point.value, *it->call);
    if (point.consumer->op() != fx::Opcode::Output)
      points_[it->point].consumers.push_back(point.consumer->name());
  }
}

/// The path with suffixes until it does not collide with a module of the model: files that were
/// quantized before may have constants with names of quantizers.
std::string QuantModel::free_path(std::string path) const {
  while (module_->find_module(path) &&
         !std::dynamic_pointer_cast<Quantizer>(module_->find_module(path)))
    path += "_1";
  return path;
}

/// Inserts a call of the quantizer at `path`, which is created if it does not exist yet.
Node& QuantModel::insert_activation_quantizer(const ActivationPoint& point, const std::string& path,
                                              const std::string& name) {
  if (!module_->find_module(path)) {
    const QuantSpec spec = spec_of(Target::Activation, point.config, activation_axis(point.config));
    module_->set_module(path, make_quantizer(spec, point.config));
  }
  Node& call = module_->graph().call_module(path, {*point.value});
  call.rename(name);
  call.set_tensor_info(point.value->tensor_info());
  points_.push_back({.name = call.name(),
                     .value = point.value->name(),
                     .quantizer = std::dynamic_pointer_cast<Quantizer>(module_->find_module(path)),
                     .observed = point.observed});
  return call;
}

/// Rewrites a layer module to a function call with the weight as an argument, so that the weight's
/// quantizer is a node. A layer that is called twice has one weight quantizer.
void QuantModel::insert_weight_quantizer(const WeightPoint& point) {
  Node& layer = *point.layer;
  const fx::OperatorCall call = *fx::resolve(layer, *module_);
  const bool is_module = layer.op() == fx::Opcode::CallModule;
  const std::string owner = is_module ? layer.target() : "";
  const fx::Value& given = call.args[point.argument];
  const std::string tensor = is_module ? owner + "." + point.argument : given.node().target();
  std::string path = free_path(tensor + "_quantizer");
  auto known = std::find_if(points_.begin(), points_.end(), [&](const QuantPoint& other) {
    return !other.is_activation() && other.value == tensor;
  });
  if (point.target == Target::Bias && known != points_.end()) {
    // Its scale follows from the layer's input, which differs between the calls.
    known = points_.end();
    path += "_" + layer.name();
  }
  if (known == points_.end()) {
    const QuantizerPtr quantizer = with_context(
        [&] {
          return make_quantizer(spec_of(point.target, point.config, point.channel_axis),
                                point.config);
        },
        [&] { return "at layer '" + layer.name() + "'"; });
    module_->set_module(path, quantizer);
    points_.push_back({"", tensor, {}, quantizer, point.target == Target::Weight});
    known = std::prev(points_.end());
  }
  SPARSEBIT_CHECK(known->quantizer->config() == point.config, InvalidArgument, "the weight '",
                  tensor, "' is read by '", known->consumers.front(), "' and '", layer.name(),
                  "', for which W.SPECIFIC has different settings: a weight has one quantizer");
  const fx::Graph::InsertPoint here = module_->graph().inserting_before(layer);
  Node& weight = is_module ? module_->graph().get_attr(tensor) : given.node();
  Node& quantized = module_->graph().call_module(path, {weight});
  if (known->name.empty()) known->name = quantized.name();
  known->consumers.push_back(layer.name());
  if (!is_module) return layer.replace_input_with(given.node(), quantized);
  fx::Kwargs kwargs;
  for (size_t i = 0; i < call.args.values().size(); ++i) {
    const std::string& name = call.op->schema.parameters()[i].name;
    const fx::Value& value = call.args.values()[i];
    const bool is_state = value.is_tensor() && module_->find_tensor(owner + "." + name);
    if (name == point.argument) {
      kwargs.emplace_back(name, quantized);
    } else {
      kwargs.emplace_back(
          name, is_state ? fx::Value(module_->graph().get_attr(owner + "." + name)) : value);
    }
  }
  const fx::Value input = kwargs.front().second;
  kwargs.erase(kwargs.begin());
  layer.set_call(fx::Opcode::CallFunction, function_of(*call.op), {input}, std::move(kwargs));
}

// --- life cycle --------------------------------------------------------------------------------

fx::Value QuantModel::forward(const std::vector<fx::Value>& inputs) {
  if (calibration_) return calibration_->show(inputs);
  return make_executor(fx::RunMode::Autograd)->run(inputs);
}

std::unique_ptr<fx::Executor> QuantModel::make_executor(fx::RunMode mode) const {
  const bool simulates = std::any_of(points_.begin(), points_.end(), [](const QuantPoint& point) {
    return point.is_activation() && point.quantizer->is_enabled();
  });
  return executors_(*module_, {.mode = mode,
                               .kernels = simulates ? float_kernels(platform()) : nullptr,
                               .skip_uncomputable = true});
}

void QuantModel::prepare_calibration(const PrepareOptions& options) {
  calibration_.reset();
  module_->eval();
  set_quant({});
  std::vector<QuantPoint> asked;
  std::copy_if(points_.begin(), points_.end(), std::back_inserter(asked), [&](const auto& point) {
    return point.is_activation() ? options.activations : options.weights;
  });
  PrepareOptions prepared = options;
  prepared.keep_samples |= learns_from_samples();
  calibration_ = std::make_unique<Calibration>(*module_, asked, fixed_batch_, prepared, executors_);
}

bool QuantModel::learns_from_samples() const {
  return config_.schedule.bias_correction || learns_rounding(points_);
}

void QuantModel::stop_calibration() { calibration_.reset(); }

void QuantModel::calc_qparams(const CalcOptions& options) {
  SPARSEBIT_CHECK(calibration_, InvalidArgument,
                  "call prepare_calibration() and forward() with data before calc_qparams()");
  const bool learns = learns_from_samples();
  SPARSEBIT_CHECK(!learns || !calibration_->samples().empty(), InvalidArgument,
                  "no data was seen, from which rounding and biases could be learned");
  SPARSEBIT_CHECK(!options.quantized_ranges || !learns_rounding(points_), Unsupported,
                  "quantized_ranges (--sequential) finds ranges before rounding is learned "
                  "(QUANTIZER.TYPE gptq), so they cannot be combined");
  calibration_->finish(options);
  const std::unique_ptr<Calibration> calibration = std::move(calibration_);  // it cannot go on
  const std::string& fit = platform().scale_fit;
  if (!fit.empty()) scale_fits().get(fit)(*module_, points_);
  set_bias_scales(*module_, points_, platform());
  if (!learns) return;
  learn_rounding(*module_, points_, platform(), calibration->store(), calibration->samples(),
                 {.calc = options, .correct_biases = config_.schedule.bias_correction}, executors_);
}

void QuantModel::set_quant(const Enabled& enabled) {
  SPARSEBIT_CHECK(!calibration_, InvalidArgument,
                  "the model is being calibrated; call calc_qparams() before set_quant()");
  for (const QuantPoint& point : points_) {
    with_context(
        [&] {
          const bool on = point.is_activation() ? enabled.activations : enabled.weights;
          const bool has_scale = point.quantizer->is_calibrated() || !point.is_bias();
          point.quantizer->set_enabled(on && (has_scale || enabled.activations));
        },
        [&] { return point.place(); });
  }
}

void QuantModel::init_qat() {
  calc_qparams();
  const at::NoGradGuard no_gradients;
  for (const QuantPoint& point : points_) {
    if (!point.quantizer->learned_integers()) continue;
    at::Tensor weight = *module_->find_tensor(point.value);
    weight.copy_(point.quantizer->take_integers());  // training starts from the learned weights
  }
  set_quant({.weights = true, .activations = true});
  module_->train();
}

std::vector<Decision> QuantModel::batchnorm_tuning(const std::function<void()>& feed) {
  SPARSEBIT_CHECK(!calibration_, InvalidArgument, "call calc_qparams() before batchnorm_tuning()");
  SPARSEBIT_CHECK(!learns_from_samples(), Unsupported,
                  "batchnorm_tuning() changes scales, for which rounding (QUANTIZER.TYPE gptq) and "
                  "biases are already learned");
  BatchNormTuning tuning(*module_, points_);
  set_quant({.weights = true, .activations = true});
  {
    const at::NoGradGuard no_gradients;
    const OneThread same_bits;
    feed();
  }
  std::vector<Decision> left = tuning.fold();
  std::erase_if(floats_, [&](const Decision& d) { return !module_->graph().find(d.node); });
  set_quant({});
  return left;
}

bool QuantModel::is_float() const {
  return std::all_of(points_.begin(), points_.end(),
                     [](const QuantPoint& point) { return point.quantizer->is_off_for_good(); });
}

QuantOpr QuantModel::layer(const std::string& name) const {
  std::set<std::string> readers;
  for (const QuantPoint& point : points_)
    readers.insert(point.consumers.begin(), point.consumers.end());
  std::vector<std::string> names;
  for (const Node& node : module_->graph().nodes()) {
    if (!readers.contains(node.name())) continue;
    if (node.name() == name || node.module_path() == name) return {node.name(), points_};
    names.push_back(node.module_path().empty() ? node.name() : node.module_path());
  }
  throw Error(ErrorKind::InvalidArgument,
              c10::str("there is no quantized layer '", name, "'", did_you_mean(name, names)));
}

std::string QuantModel::to_mermaid() const { return fx::to_mermaid(*module_); }

Quantizer& QuantModel::quantizer(const std::string& name) const {
  std::vector<std::string> names;
  for (const QuantPoint& point : points_) {
    if (point.name == name) return *point.quantizer;
    names.push_back(point.name);
  }
  throw Error(ErrorKind::InvalidArgument,
              c10::str("there is no quantizer '", name, "'", did_you_mean(name, names)));
}

}  // namespace sparsebit::quant
