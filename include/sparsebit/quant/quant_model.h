#pragma once

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/placement/placement.h"
#include "sparsebit/quant/quantizers/quantizer.h"
#include "sparsebit/quant/spec/qconfig.h"

#include <memory>
#include <string>
#include <vector>

namespace sparsebit::quant {

/// A quantizer and where it is.
struct QuantPoint {
  std::string name;                         ///< of its node
  std::string value;                        ///< the node, or path of the tensor, that it quantizes
  std::vector<std::string> consumers = {};  ///< nodes that read it
  QuantizerPtr quantizer;

  bool is_weight() const { return quantizer->spec().target == Target::Weight; }
};

/// A model with quantizers in its graph.
///
///     QuantModel model(network, parse_qconfig("qconfig.yaml"));
///     model.prepare_calibration();
///     for (const at::Tensor& batch : batches) model.forward({batch});
///     model.calc_qparams();
///     model.set_quant({.weights = true, .features = true});
///     const at::Tensor simulated = model.forward({x}).tensor();
///
/// While quantization is off it computes what the network does. Calibration looks at one sample at
/// a time, so that batches of any size and order give the same scales to the last bit.
class QuantModel {
 public:
  /// Traces the model (a graph is copied), simplifies, and puts quantizers where the config's
  /// backend wants them. Weights are shared with the model as long as nothing changes them.
  /// @param example  inputs from which shapes and types are recorded; without them, what may be
  ///                 integers is taken for features, and some simplifications do not happen.
  QuantModel(fx::Module& model, const QConfig& config, const std::vector<fx::Value>& example = {});

  fx::GraphModule& module() { return *module_; }
  const fx::GraphModule& module() const { return *module_; }
  const QConfig& config() const { return config_; }

  /// Runs the model. After prepare_calibration() the quantizers look on.
  fx::Value forward(const std::vector<fx::Value>& inputs);

  /// From now on forward() is calibration.
  void prepare_calibration();
  /// Scales from what was seen. Throws InvalidArgument, naming the point, unless calibration was
  /// prepared and data was seen.
  void calc_qparams();

  struct Enabled {
    bool weights = false;
    bool features = false;
  };
  /// Throws InvalidArgument, naming the point, when one that is switched on was never calibrated.
  void set_quant(const Enabled& enabled);
  /// calc_qparams(), then everything on, in training mode: the start of training.
  void init_qat();

  /// Features in graph order, then weights.
  const std::vector<QuantPoint>& points() const { return points_; }
  /// The quantizer of this node name. Throws InvalidArgument with near names.
  Quantizer& quantizer(const std::string& point) const;
  /// The graph with its quantizers as a flow chart, see fx::to_mermaid().
  std::string to_mermaid() const;
  /// Nodes that stay float, and why.
  const std::vector<FloatDecision>& floats() const { return floats_; }
  /// Patterns of the config that match no layer.
  const std::vector<std::string>& unused_patterns() const { return unused_patterns_; }

 private:
  friend class SavedModelReader;
  friend class SavedModelWriter;
  enum class State { Built, Calibrating, Calibrated };

  QuantModel() = default;

  fx::Value observe(const std::vector<fx::Value>& inputs);
  void insert_quantizers(const Placement& placement);
  void insert_feature_quantizers(const std::vector<FeaturePoint>& points);
  void insert_weight_quantizer(const WeightPoint& point);
  fx::Node& call_quantizer(fx::Node& value, const std::string& path);

  QConfig config_;
  std::shared_ptr<fx::GraphModule> module_;
  int64_t samples_at_once_ = 1;  // that calibration shows the graph
  std::vector<QuantPoint> points_;
  std::vector<FloatDecision> floats_;
  std::vector<std::string> unused_patterns_;
  State state_ = State::Built;
};

}  // namespace sparsebit::quant
