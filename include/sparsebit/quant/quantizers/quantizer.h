#pragma once

#include "sparsebit/core/registry.h"
#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/kernels/fake_quant.h"
#include "sparsebit/quant/observers/observer.h"
#include "sparsebit/quant/spec/decision.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sparsebit::quant {

/// Quantizes one value of a graph: a module that a node calls.
///
/// Life cycle: construct; observe() the value of each calibration batch; calibrate(); then
/// set_enabled(true) makes forward() simulate integers. Until then a call gives back its input.
/// `scale` and `zero_point` are buffers, or parameters where a method trains them, so that a state
/// dict has them.
class Quantizer : public fx::Module {
 public:
  /// @param type  what a printed graph calls it: "quant.Uniform".
  /// @param observe_with  what makes the observer, if it is not the config's.
  Quantizer(std::string type, const QuantSpec& spec, const TensorConfig& config,
            ObserverFactory observe_with = make_observer);
  Quantizer(const Quantizer& other);

  const QuantSpec& spec() const { return spec_; }
  const TensorConfig& config() const { return config_; }
  /// Changes the bits, and all integers of them are in use. It is off and not calibrated then:
  /// scales of other bits would be wrong.
  void set_bits(int bits);

  /// Whether it quantizes: switched on, and not off for good.
  bool is_enabled() const { return on_ && !is_off_for_good(); }
  /// Throws InvalidArgument when it was never calibrated.
  void set_enabled(bool on);
  /// Never quantizes again. The first reason stays.
  void switch_off(Decision why);
  /// The same with the caller's own words.
  void switch_off(std::string why) { switch_off({DecisionKind::SwitchedOff, "", std::move(why)}); }
  bool is_off_for_good() const { return why_off_.has_value(); }
  /// Nothing while it may quantize.
  const std::optional<Decision>& why_off() const { return why_off_; }

  /// Adds a batch to what the scales will be made of.
  void observe(const at::Tensor& x) { observe(x, *observer_); }
  /// For threads that look at a time: each with an observer of its own, merged in the end.
  std::unique_ptr<Observer> new_observer() const { return observe_with_(spec_, config_.observer); }
  void observe(const at::Tensor& x, Observer& into) const;
  void merge(std::unique_ptr<Observer> seen);
  /// Makes the scales of what was observed, and forgets that.
  void calibrate();
  bool is_calibrated() const { return calibrated_; }

  virtual QParams qparams() const;
  /// Those that the simulation ends with: positive scales and whole zero points, without gradients.
  /// Throws Unsupported unless has_uniform_steps().
  QParams final_qparams() const;
  /// Scales whose integers cover what it gives: those above, and where steps are not uniform, the
  /// range alone. For formats that store ranges.
  virtual QParams covering_qparams() const { return final_qparams(); }
  /// The integers that stand for a tensor, as int32: what the simulation gives is
  /// (q - zero_point) * scale. Calibrated before.
  at::Tensor integers(const at::Tensor& x) const;
  /// Whether it is meant to be trained, so that calibration alone says little.
  virtual bool needs_training() const { return false; }
  /// Whether its numbers are (q - zero_point) * scale for integers q.
  virtual bool has_uniform_steps() const { return true; }
  /// The number d if tanh(x) / d is quantized instead of x.
  virtual std::optional<double> squeezes_by() const { return std::nullopt; }
  /// Whether a tensor and its scales can be multiplied by the same number and the integers stay.
  virtual bool is_scale_free() const { return false; }
  /// As if calibrate() had found this.
  void set_qparams(const QParams& qparams);

  /// What is not in its tensors.
  struct State {
    bool on = false;
    bool calibrated = false;
    std::optional<Decision> why_off = {};
  };
  State state() const { return {on_, calibrated_, why_off_}; }
  /// For those who read a saved model, after they put the tensors in place.
  void restore(const State& state);

  fx::Value forward(const fx::Args& in) override;

  /// `uint8 per-tensor-affine minmax`, with the quantizer's type if it is not `uniform`
  std::string summary() const;

 protected:
  /// The simulation itself; calibrated.
  virtual at::Tensor simulate(const at::Tensor& x) const = 0;
  /// The scales that follow from what was observed.
  virtual QParams find_qparams() { return observer_->qparams(); }
  /// Whether they are trained.
  virtual bool trains_scale() const { return false; }
  virtual bool trains_zero_point() const { return false; }

  Observer& observer() { return *observer_; }
  void set_spec(const QuantSpec& spec) { spec_ = spec; }

 private:
  void store(const std::string& name, const at::Tensor& tensor, bool trained);

  QuantSpec spec_;
  TensorConfig config_;
  ObserverFactory observe_with_;
  std::unique_ptr<Observer> observer_;
  bool on_ = false;
  bool calibrated_ = false;
  std::optional<Decision> why_off_;
};

/// What a quantizer derives from: it can be copied, as fx::Module::clone() wants.
template <class Derived>
class CloneableQuantizer : public Quantizer {
 public:
  using Quantizer::Quantizer;

 protected:
  fx::ModulePtr shallow_copy() const override {
    return std::make_shared<Derived>(static_cast<const Derived&>(*this));
  }
};

using QuantizerPtr = std::shared_ptr<Quantizer>;
using QuantizerFactory = std::function<QuantizerPtr(const QuantSpec&, const TensorConfig&)>;

/// By `QUANTIZER.TYPE`, in small letters. Add your own before the first config is read.
Registry<QuantizerFactory>& quantizers();

QuantizerPtr make_quantizer(const QuantSpec& spec, const TensorConfig& config);

/// The quantizer that a node calls; null for other nodes.
Quantizer* find_quantizer(fx::GraphModule& module, const fx::Node& node);
const Quantizer* find_quantizer(const fx::GraphModule& module, const fx::Node& node);

}  // namespace sparsebit::quant
