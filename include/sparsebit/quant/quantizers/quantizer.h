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

/// A module, called by a node, that quantizes one value of a graph.
///
/// Life cycle: construct; observe() the value of each calibration batch; calibrate(); then
/// set_enabled(true) makes forward() simulate integers. Until then forward() returns its input.
/// `scale` and `zero_point` are in the state dict: as buffers, or as parameters if they are
/// trained.
class Quantizer : public fx::Module {
 public:
  /// @param type  shown in printed graphs: "quant.Uniform".
  /// @param observe_with  creates the observer; default: by the config's OBSERVER.TYPE.
  Quantizer(std::string type, const QuantSpec& spec, const TensorConfig& config,
            ObserverFactory observe_with = make_observer);
  Quantizer(const Quantizer& other);

  const QuantSpec& spec() const { return spec_; }
  const TensorConfig& config() const { return config_; }
  /// Changes the bits and resets the range to all integers of them. The quantizer must be
  /// calibrated again, because its scales were those of the old bits; it is off until then.
  void set_bits(int bits);

  /// Whether it quantizes: enabled and not permanently switched off.
  bool is_enabled() const { return on_ && !is_off_for_good(); }
  /// Throws InvalidArgument if it is to be enabled and is not calibrated.
  void set_enabled(bool on);
  /// Switches the quantizer off permanently. Later calls do not change the reason.
  void switch_off(Decision why);
  /// The same with a reason in the caller's words.
  void switch_off(std::string why) { switch_off({DecisionKind::SwitchedOff, "", std::move(why)}); }
  bool is_off_for_good() const { return why_off_.has_value(); }
  /// The reason; nullopt unless it is permanently off.
  const std::optional<Decision>& why_off() const { return why_off_; }

  /// Adds a batch to the statistics for calibrate().
  void observe(const at::Tensor& x) { observe(x, *observer_); }
  /// For parallel calibration: each thread has its own observer, merged at the end.
  std::unique_ptr<Observer> new_observer() const { return observe_with_(spec_, config_.observer); }
  void observe(const at::Tensor& x, Observer& into) const;
  void merge(std::unique_ptr<Observer> seen);
  /// Computes the scales from the statistics and discards the statistics.
  void calibrate();
  bool is_calibrated() const { return calibrated_; }

  virtual QParams qparams() const;
  /// The parameters for export: positive scales and integral zero points, without gradients. Throws
  /// Unsupported unless has_uniform_steps().
  QParams final_qparams() const;
  /// Parameters whose integers cover the range of the outputs: final_qparams(), or for non-uniform
  /// steps ones of the same range. For formats that store ranges.
  virtual QParams covering_qparams() const { return final_qparams(); }
  /// The integers q of a tensor as int32; the simulation computes (q - zero_point) * scale.
  /// Requires calibration.
  at::Tensor integers(const at::Tensor& x) const;
  /// Whether it is meant to be trained: calibration alone gives poor accuracy.
  virtual bool needs_training() const { return false; }
  /// Whether its outputs are (q - zero_point) * scale for integers q.
  virtual bool has_uniform_steps() const { return true; }
  /// The divisor d if it quantizes tanh(x) / d instead of x; nullopt otherwise.
  virtual std::optional<double> squeezes_by() const { return std::nullopt; }
  /// Whether the integers stay the same if a tensor and its scales are multiplied by one factor.
  virtual bool is_scale_free() const { return false; }
  /// Sets the parameters as calibrate() does. Learned integers are dropped: they were for the old
  /// scales.
  void set_qparams(const QParams& qparams);

  /// Whether the integers of a weight are to be learned from the layer's inputs, see
  /// quant/rounding/learn_rounding.h.
  virtual bool learns_rounding() const { return false; }
  /// Sets the integers of a weight: from now on these are its quantized values, not the nearest
  /// ones. They must be in the range of the spec.
  void set_integers(const at::Tensor& integers);
  /// Null if they were not set.
  const at::Tensor* learned_integers() const;
  /// Goes back to rounding to nearest. Returns what the integers represent: the weights from which
  /// training starts.
  at::Tensor take_integers();

  /// The state that is not in its tensors.
  struct State {
    bool on = false;
    bool calibrated = false;
    std::optional<Decision> why_off = {};
  };
  State state() const { return {on_, calibrated_, why_off_}; }
  /// Used when loading a saved model, after its tensors are set.
  void restore(const State& state);

  fx::Value forward(const fx::Args& in) override;

  /// `uint8 per-tensor-affine minmax`, with the quantizer's type if it is not `uniform`
  virtual std::string summary() const;

 protected:
  /// Quantizes and dequantizes x. Called only after calibration.
  virtual at::Tensor simulate(const at::Tensor& x) const = 0;
  /// The parameters computed from the observed statistics.
  virtual QParams find_qparams() { return observer_->qparams(); }
  /// Whether `scale` and `zero_point` are parameters.
  virtual bool trains_scale() const { return false; }
  virtual bool trains_zero_point() const { return false; }

  Observer& observer() { return *observer_; }
  void set_spec(const QuantSpec& spec) { spec_ = spec; }
  /// Removes a parameter or buffer, if there is one of that name.
  void remove(const std::string& name);

 private:
  void store(const std::string& name, const at::Tensor& tensor, bool trained);
  at::Tensor values_of(const at::Tensor& integers) const;

  QuantSpec spec_;
  TensorConfig config_;
  ObserverFactory observe_with_;
  std::unique_ptr<Observer> observer_;
  bool on_ = false;
  bool calibrated_ = false;
  std::optional<Decision> why_off_;
};

/// Base class of quantizers that implements shallow_copy() for fx::Module::clone().
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

/// By `QUANTIZER.TYPE`, in lower case. Add your own before the first config is read.
Registry<QuantizerFactory>& quantizers();

QuantizerPtr make_quantizer(const QuantSpec& spec, const TensorConfig& config);

/// The quantizer that a node calls; null for other nodes.
Quantizer* find_quantizer(fx::GraphModule& module, const fx::Node& node);
const Quantizer* find_quantizer(const fx::GraphModule& module, const fx::Node& node);

}  // namespace sparsebit::quant
