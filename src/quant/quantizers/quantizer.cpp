#include "sparsebit/quant/quantizers/quantizer.h"

#include "quant/quantizers/all_quantizers.h"

#include "sparsebit/core/error.h"

#include <ATen/ATen.h>

namespace sparsebit::quant {
namespace {

/// The buffer with the learned integers of a weight.
constexpr const char* kIntegers = "integers";

DecisionKind disabled_kind(const QuantSpec& spec) {
  return spec.target == Target::Activation ? DecisionKind::ActivationDisabled
                                           : DecisionKind::WeightDisabled;
}

}  // namespace

Quantizer::Quantizer(std::string type, const QuantSpec& spec, const TensorConfig& config,
                     ObserverFactory observe_with)
    : Module(std::move(type), "input"),
      spec_(spec),
      config_(config),
      observe_with_(std::move(observe_with)),
      observer_(new_observer()) {
  add_buffer("scale", at::ones({}));
  add_buffer("zero_point", at::zeros({}));
  if (config.quantizer.disable) switch_off({disabled_kind(spec), ""});
}

/// Statistics are not copied: the copy has a new observer.
Quantizer::Quantizer(const Quantizer& other)
    : Module(other),
      spec_(other.spec_),
      config_(other.config_),
      observe_with_(other.observe_with_),
      observer_(new_observer()),
      on_(other.on_),
      calibrated_(other.calibrated_),
      why_off_(other.why_off_) {}

void Quantizer::set_bits(int bits) {
  SPARSEBIT_CHECK(bits >= kLeastBits && bits <= kMostBits, InvalidArgument, "expected ", kLeastBits,
                  " to ", kMostBits, " bits, found ", bits);
  spec_.bits = bits;
  spec_.range.reset();
  config_.quantizer.bits = bits;
  config_.quantizer.range.reset();
  calibrated_ = on_ = false;
  observer_ = new_observer();
}

void Quantizer::set_enabled(bool on) {
  SPARSEBIT_CHECK(!on || calibrated_ || is_off_for_good(), InvalidArgument,
                  "it is not calibrated; run prepare_calibration(), data and calc_qparams() first");
  on_ = on;
}

void Quantizer::switch_off(Decision why) {
  if (!is_off_for_good()) why_off_ = std::move(why);
}

void Quantizer::observe(const at::Tensor& x, Observer& into) const {
  if (!is_off_for_good()) into.observe(x.detach());
}

void Quantizer::merge(std::unique_ptr<Observer> seen) {
  if (is_off_for_good()) return;
  if (observer_->has_seen()) {
    observer_->merge(*seen);
  } else {
    observer_ = std::move(seen);
  }
}

void Quantizer::calibrate() {
  if (is_off_for_good()) return;
  set_qparams(find_qparams());
  observer_ = new_observer();
}

QParams Quantizer::qparams() const { return {*find_tensor("scale"), *find_tensor("zero_point")}; }

void Quantizer::set_qparams(const QParams& qparams) {
  remove(kIntegers);
  store("scale", qparams.scale, trains_scale());
  store("zero_point", qparams.zero_point, trains_zero_point());
  calibrated_ = true;
}

void Quantizer::restore(const State& state) {
  on_ = state.on;
  calibrated_ = state.calibrated;
  why_off_ = state.why_off;
}

void Quantizer::remove(const std::string& name) {
  std::unordered_set<std::string> others;
  for (const auto& child : children()) others.insert(child.key());
  for (const fx::NamedTensors* tensors : {&own_parameters(), &own_buffers()}) {
    for (const auto& item : *tensors) {
      if (item.key() != name) others.insert(item.key());
    }
  }
  keep_only(others);
}

/// Stores a tensor as a parameter if it is trained, else as a buffer, and removes the old one.
void Quantizer::store(const std::string& name, const at::Tensor& tensor, bool trained) {
  remove(name);
  if (trained) {
    add_parameter(name, tensor.detach().clone());
  } else {
    add_buffer(name, tensor.detach().clone());
  }
}

QParams Quantizer::final_qparams() const {
  SPARSEBIT_CHECK(has_uniform_steps(), Unsupported, "quantizer type ", config_.quantizer.type,
                  " has no uniform steps, so it has no scale and zero point");
  const auto [scale, zero_point] = qparams();
  return {scale.detach().abs(),
          zero_point.detach().round().clamp(spec_.qmin(), spec_.qmax()).to(at::kFloat)};
}

at::Tensor Quantizer::integers(const at::Tensor& x) const {
  SPARSEBIT_CHECK(calibrated_, InvalidArgument, "it is not calibrated, so there are no integers");
  if (const at::Tensor* learned = learned_integers()) return learned->to(at::kInt);
  const at::NoGradGuard no_gradients;
  const QParams found = final_qparams();
  const at::Tensor steps = simulate(x.detach()) / spread_over(found.scale, x, spec_);
  return at::round(steps + spread_over(found.zero_point, x, spec_)).to(at::kInt);
}

void Quantizer::set_integers(const at::Tensor& integers) {
  SPARSEBIT_CHECK(calibrated_ && spec_.target == Target::Weight && has_uniform_steps(),
                  InvalidArgument, "integers can only be set for a calibrated weight with scales");
  const bool in_range =
      integers.ge(spec_.qmin()).logical_and(integers.le(spec_.qmax())).all().item<bool>();
  SPARSEBIT_CHECK(in_range, InvalidArgument, "expected integers from ", spec_.qmin(), " to ",
                  spec_.qmax());
  const at::ScalarType type = spec_.bits > 8 ? at::kInt : spec_.qmin() < 0 ? at::kChar : at::kByte;
  store(kIntegers, integers.to(type), /*trained=*/false);
}

const at::Tensor* Quantizer::learned_integers() const { return find_tensor(kIntegers); }

at::Tensor Quantizer::take_integers() {
  const at::Tensor values = values_of(*learned_integers());
  remove(kIntegers);
  return values;
}

at::Tensor Quantizer::values_of(const at::Tensor& integers) const {
  const QParams found = final_qparams();
  const at::Tensor floats = integers.to(at::kFloat);
  return (floats - spread_over(found.zero_point, floats, spec_)) *
         spread_over(found.scale, floats, spec_);
}

fx::Value Quantizer::forward(const fx::Args& in) {
  if (!is_enabled()) return in["input"];
  const at::Tensor x = in.tensor("input");
  const at::Tensor* learned = learned_integers();
  if (!learned) return simulate(x);
  const at::Tensor values = values_of(*learned);
  const bool trains = x.requires_grad() && at::GradMode::is_enabled();
  return trains ? values + (x - x.detach()) : values;  // straight-through
}

std::string Quantizer::summary() const {
  if (is_off_for_good()) return c10::str("float, ", to_string(why_off_->kind));
  const std::string& type = config_.quantizer.type;
  const std::string range =
      spec_.range ? c10::str(" [", spec_.range->low, ", ", spec_.range->high, "]") : "";
  return spec_.type_name() + range + " " + to_string(spec_.scheme) +
         (type == "uniform" ? "" : " " + type) + " " + config_.observer.type;
}

Registry<QuantizerFactory>& quantizers() {
  static Registry<QuantizerFactory> registry = [] {
    Registry<QuantizerFactory> r("quantizer");
    r.add("uniform", make_uniform);
    r.add("gptq", make_gptq);
    r.add("dorefa", make_dorefa);
    r.add("lsq", make_lsq);
    r.add("lsq+", make_lsq_plus);
    r.add("pact", make_pact);
    r.add("adaround", make_adaround);
    r.add("dsq", make_dsq);
    r.add("tqt", make_tqt);
    r.add("nnie", make_nnie);
    return r;
  }();
  return registry;
}

QuantizerPtr make_quantizer(const QuantSpec& spec, const TensorConfig& config) {
  if (spec.target == Target::Bias) return make_bias(spec, config);
  return quantizers().get(config.quantizer.type)(spec, config);
}

Quantizer* find_quantizer(fx::GraphModule& module, const fx::Node& node) {
  if (node.op() != fx::Opcode::CallModule) return nullptr;
  return dynamic_cast<Quantizer*>(module.find(node.target()));
}

const Quantizer* find_quantizer(const fx::GraphModule& module, const fx::Node& node) {
  if (node.op() != fx::Opcode::CallModule) return nullptr;
  return dynamic_cast<const Quantizer*>(module.find(node.target()));
}

}  // namespace sparsebit::quant
