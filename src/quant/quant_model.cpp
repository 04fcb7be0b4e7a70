#include "sparsebit/quant/quant_model.h"

#include "quant/calibration/samples.h"

#include "sparsebit/core/error.h"
#include "sparsebit/core/error_context.h"
#include "sparsebit/core/near_match.h"
#include "sparsebit/fx/interpreter.h"
#include "sparsebit/fx/lint.h"
#include "sparsebit/fx/printer.h"
#include "sparsebit/fx/resolve.h"
#include "sparsebit/fx/tracer.h"
#include "sparsebit/passes/runner.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <map>

namespace sparsebit::quant {
namespace {

using fx::Node;

std::shared_ptr<fx::GraphModule> graph_of(fx::Module& model, const QConfig& config) {
  if (const auto* graph = dynamic_cast<const fx::GraphModule*>(&model))
    return graph->clone_graph_module();
  return fx::QTracer(config.skip_trace_modules).trace(model);
}

/// Attention stays in its steps: each product has integers of its own.
passes::Schedule schedule_of(const QConfig& config) {
  passes::Schedule schedule{.stages = {passes::Stage::Simplify}};
  schedule.switches["recognize_attention"] = false;
  const bool fuses = config.schedule.fuse_bn && !config.schedule.bn_tuning;
  if (fuses) schedule.stages.push_back(passes::Stage::Fuse);
  for (const auto& [name, on] : config.schedule.passes) schedule.switches[name] = on;
  return schedule;
}

QuantSpec spec_of(Target target, const TensorConfig& config, int64_t channel_axis) {
  return {.target = target,
          .scheme = *config.scheme,
          .bits = static_cast<int>(config.quantizer.bits),
          .restricted = config.quantizer.restricted,
          .group_size = target == Target::Weight ? config.quantizer.group_size : 0,
          .channel_axis = channel_axis};
}

int64_t feature_axis(const TensorConfig& config) {
  return config.observer.layout == Layout::Nlc ? 2 : 1;
}

std::string place_of(const QuantPoint& point) {
  return "at '" + point.name + "', the quantizer of '" + point.value + "'";
}

/// While it lives, libtorch computes with one thread: results of convolutions depend on how many
/// there are.
class OneThread {
 public:
  OneThread() : threads_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(threads_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int threads_;
};

/// The function form of an operator that has modules.
std::string function_of(const fx::Operator& op) {
  const auto is_functional = [](const fx::Form& form) {
    return form.spelling.starts_with("torch.nn.functional.");
  };
  const auto it = std::find_if(op.forms.begin(), op.forms.end(), is_functional);
  return it == op.forms.end() ? op.forms.front().spelling : it->spelling;
}

}  // namespace

QuantModel::QuantModel(fx::Module& model, const QConfig& config,
                       const std::vector<fx::Value>& example)
    : config_(config),
      module_(graph_of(model, config)),
      samples_at_once_(quant::samples_at_once(*module_)) {
  module_->eval();
  if (!example.empty()) fx::record_shapes(*module_, example);
  passes::run_passes(*module_, schedule_of(config_));
  if (!example.empty()) fx::record_shapes(*module_, example);
  const Placement placement = place_virtual(*module_, config_);
  insert_quantizers(placement);
  floats_ = placement.floats;
  unused_patterns_ = placement.unused_patterns;
}

// --- quantizers in the graph -------------------------------------------------------------------

void QuantModel::insert_quantizers(const Placement& placement) {
  insert_feature_quantizers(placement.features);
  for (const WeightPoint& point : placement.weights) insert_weight_quantizer(point);
  module_->graph().sort_topologically();
  fx::lint(module_->graph(), *module_);
}

Node& QuantModel::call_quantizer(Node& value, const std::string& path) {
  Node* place = &value;  // inputs stay together at the beginning
  while (value.op() == fx::Opcode::Placeholder && place->next() &&
         place->next()->op() == fx::Opcode::Placeholder)
    place = place->next();
  const fx::Graph::InsertPoint here = module_->graph().inserting_after(*place);
  Node& call = module_->graph().call_module(path, {value});
  call.set_tensor_info(value.tensor_info());
  return call;
}

/// One quantizer for a value, unless its consumers are to see it differently.
void QuantModel::insert_feature_quantizers(const std::vector<FeaturePoint>& points) {
  std::map<Node*, std::vector<std::pair<TensorConfig, Node*>>> made;  // by value
  for (const FeaturePoint& point : points) {
    auto& calls = made[point.value];
    auto it = std::find_if(calls.begin(), calls.end(),
                           [&](const auto& known) { return known.first == point.config; });
    if (it == calls.end()) {
      const std::string number = calls.empty() ? "" : "_" + std::to_string(calls.size());
      const std::string path = point.value->name() + "_quantizer" + number;
      const QuantizerPtr quantizer = make_quantizer(
          spec_of(Target::Feature, point.config, feature_axis(point.config)), point.config);
      module_->set_module(path, quantizer);
      Node& call = call_quantizer(*point.value, path);
      it = calls.insert(calls.end(), {point.config, &call});
      points_.push_back({call.name(), point.value->name(), {}, quantizer});
    }
    point.consumer->replace_input_with(*point.value, *it->second);
    const auto added = std::find_if(points_.begin(), points_.end(), [&](const QuantPoint& known) {
      return known.name == it->second->name();
    });
    added->consumers.push_back(point.consumer->name());
  }
}

/// The layer becomes a function of its weight, so that the weight's quantizer is a node as well. A
/// layer that is called twice has one.
void QuantModel::insert_weight_quantizer(const WeightPoint& point) {
  Node& layer = *point.layer;
  const fx::OperatorCall call = *fx::resolve(layer, *module_);
  const bool is_module = layer.op() == fx::Opcode::CallModule;
  const std::string owner = is_module ? layer.target() : "";
  const fx::Value& given = call.args[point.argument];
  const std::string tensor = is_module ? owner + "." + point.argument : given.node().target();
  const std::string path = tensor + "_quantizer";
  auto known = std::find_if(points_.begin(), points_.end(), [&](const QuantPoint& other) {
    return other.is_weight() && other.value == tensor;
  });
  if (known == points_.end()) {
    const QuantizerPtr quantizer =
        make_quantizer(spec_of(Target::Weight, point.config, point.channel_axis), point.config);
    module_->set_module(path, quantizer);
    points_.push_back({"", tensor, {}, quantizer});
    known = std::prev(points_.end());
  }
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
    fx::Value argument =
        is_state ? fx::Value(module_->graph().get_attr(owner + "." + name)) : value;
    if (name == point.argument) argument = quantized;
    kwargs.emplace_back(name, std::move(argument));
  }
  const fx::Value input = kwargs.front().second;
  kwargs.erase(kwargs.begin());
  layer.set_call(fx::Opcode::CallFunction, function_of(*call.op), {input}, std::move(kwargs));
}

// --- life cycle --------------------------------------------------------------------------------

fx::Value QuantModel::forward(const std::vector<fx::Value>& inputs) {
  if (state_ != State::Calibrating) {
    fx::Interpreter interpreter(*module_);
    return interpreter.run(inputs);
  }
  return observe(inputs);
}

fx::Value QuantModel::observe(const std::vector<fx::Value>& inputs) {
  const OneThread same_bits;
  std::map<std::string, const QuantPoint*> watching;  // by node
  for (const QuantPoint& point : points_) {
    if (!point.is_weight()) watching[point.name] = &point;
  }
  fx::Interpreter interpreter(*module_, fx::RunMode::Inference);
  interpreter.add_hook({.before = {}, .after = [&](const Node& node, fx::Value& value) {
                          const auto it = watching.find(node.name());
                          if (it == watching.end() || !value.is_tensor()) return;
                          const QuantPoint& point = *it->second;
                          with_context([&] { point.quantizer->observe(value.tensor()); },
                                       [&] { return place_of(point); });
                        }});
  std::vector<fx::Value> results;
  for (const std::vector<fx::Value>& sample : samples_of(inputs, samples_at_once_))
    results.push_back(interpreter.run(sample));
  return joined(results);
}

void QuantModel::prepare_calibration() {
  module_->eval();
  set_quant({});
  state_ = State::Calibrating;
}

void QuantModel::calc_qparams() {
  SPARSEBIT_CHECK(state_ == State::Calibrating, InvalidArgument,
                  "call prepare_calibration() and forward() with data before calc_qparams()");
  for (const QuantPoint& point : points_) {
    with_context(
        [&] {
          if (point.is_weight()) point.quantizer->observe(*module_->find_tensor(point.value));
          point.quantizer->calibrate();
        },
        [&] { return place_of(point); });
  }
  state_ = State::Calibrated;
}

void QuantModel::set_quant(const Enabled& enabled) {
  for (const QuantPoint& point : points_) {
    with_context(
        [&] {
          point.quantizer->set_enabled(point.is_weight() ? enabled.weights : enabled.features);
        },
        [&] { return place_of(point); });
  }
}

void QuantModel::init_qat() {
  calc_qparams();
  set_quant({.weights = true, .features = true});
  module_->train();
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
