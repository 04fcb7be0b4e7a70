#pragma once

#include "sparsebit/fx/executor.h"
#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/calibration/calibration_options.h"
#include "sparsebit/quant/config/qconfig.h"
#include "sparsebit/quant/placement/placement.h"
#include "sparsebit/quant/quant_opr.h"
#include "sparsebit/quant/quantizers/quant_point.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sparsebit::quant {

class Calibration;

/// A model with quantizers in its graph.
///
///     QuantModel model(network, parse_qconfig("qconfig.yaml"));
///     model.prepare_calibration();
///     for (const at::Tensor& batch : batches) model.forward({batch});
///     model.calc_qparams();
///     model.set_quant({.weights = true, .features = true});
///     const at::Tensor simulated = model.forward({x}).tensor();
///
/// While quantization is off it computes what the network does. Calibration looks at samples one by
/// one, so that batches of any size and order, and any number of threads, give the same scales to
/// the last bit.
class QuantModel {
 public:
  /// Traces the model, copies it, simplifies, and puts quantizers where the config's backend wants
  /// them. The model given stays as it is.
  /// @param example  inputs from which shapes and types are recorded; without them, what may be
  ///                 integers is taken for features, and some simplifications do not happen.
  QuantModel(fx::Module& model, const QConfig& config, const std::vector<fx::Value>& example = {});
  QuantModel(QuantModel&&) noexcept;
  QuantModel& operator=(QuantModel&&) noexcept;
  ~QuantModel();

  fx::GraphModule& module() { return *module_; }
  const fx::GraphModule& module() const { return *module_; }
  const QConfig& config() const { return config_; }
  const platforms::Platform& platform() const { return *config_.platform; }

  /// What runs the graph from now on, for calibration, profiling and evaluation: the Interpreter
  /// unless another engine is given.
  void set_executor(fx::ExecutorFactory factory) { executors_ = std::move(factory); }
  /// A run of the graph as it is now. With quantized activations it computes with the platform's
  /// float kernels.
  std::unique_ptr<fx::Executor> make_executor(fx::RunMode mode) const;

  /// How many samples the graph takes at once; 0 when any number will do.
  int64_t fixed_batch() const { return fixed_batch_; }

  /// Runs the model. After prepare_calibration() the quantizers look on.
  fx::Value forward(const std::vector<fx::Value>& inputs);

  /// From now on forward() is calibration.
  void prepare_calibration(const PrepareOptions& options = {});
  bool is_calibrating() const { return calibration_ != nullptr; }
  /// Forgets what calibration saw, if there is one.
  void stop_calibration();
  /// Scales from what was seen, which is forgotten. Throws InvalidArgument, naming the point,
  /// unless calibration was prepared and data was seen.
  void calc_qparams(const CalcOptions& options = {});

  struct Enabled {
    bool weights = false;
    bool features = false;
  };
  /// Throws InvalidArgument, naming the point, when one that is switched on was never calibrated.
  void set_quant(const Enabled& enabled);
  /// calc_qparams(), then everything on, in training mode: the start of training.
  void init_qat();

  /// Fits batch norms to quantized layers (SCHEDULE.BN_TUNING kept them): while `feed` calls
  /// forward() with batches, everything is quantized and the norms gather their statistics anew,
  /// each batch counting the same. Then they are folded into the layers before them, whose weights
  /// keep their integers, and quantization is off. When `feed` throws, the model is as before.
  /// Returns the norms that were not folded, and why.
  std::vector<Decision> batchnorm_tuning(const std::function<void()>& feed);

  /// Features in graph order, then weights.
  const std::vector<QuantPoint>& points() const { return points_; }
  /// Whether nothing is quantized, so that it stays a float model; floats() has the reasons.
  bool is_float() const;
  /// The quantizer of this node name. Throws InvalidArgument with near names.
  Quantizer& quantizer(const std::string& point) const;
  /// The operator at this node name or dotted path. Throws InvalidArgument with near names when it
  /// has no quantizers.
  QuantOpr layer(const std::string& name) const;
  /// The graph with its quantizers as a flow chart, see fx::to_mermaid().
  std::string to_mermaid() const;
  /// Nodes that stay float, and why.
  const std::vector<Decision>& floats() const { return floats_; }
  /// Patterns of the config that match no layer or module.
  const std::vector<std::string>& unused_patterns() const { return unused_patterns_; }

 private:
  friend class SavedModelReader;
  friend class SavedModelWriter;

  QuantModel();

  void insert_quantizers(const Placement& placement);
  void insert_feature_quantizers(const std::vector<FeaturePoint>& points);
  fx::Node& insert_feature_quantizer(const FeaturePoint& point, const std::string& path,
                                     const std::string& name);
  void insert_weight_quantizer(const WeightPoint& point);
  std::string free_path(std::string path) const;

  QConfig config_;
  std::shared_ptr<fx::GraphModule> module_;
  int64_t fixed_batch_ = 0;
  std::vector<QuantPoint> points_;
  std::vector<Decision> floats_;
  std::vector<std::string> unused_patterns_;
  fx::ExecutorFactory executors_ = fx::make_interpreter;
  std::unique_ptr<Calibration> calibration_;  // while there is one
};

}  // namespace sparsebit::quant
