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
///     model.set_quant({.weights = true, .activations = true});
///     const at::Tensor simulated = model.forward({x}).tensor();
///
/// With quantization off, it computes the same as the network. Calibration processes samples one by
/// one: batches of any size and order, and any number of threads, give bit-identical scales.
class QuantModel {
 public:
  /// Traces, copies and simplifies the model, and inserts quantizers where the config's backend
  /// needs them. The given model is not changed.
  /// @param example  inputs with which shapes and types are recorded; without them, integer tensors
  ///                 cannot be told from activations, and some simplifications are skipped.
  QuantModel(fx::Module& model, const QConfig& config, const std::vector<fx::Value>& example = {});
  QuantModel(QuantModel&&) noexcept;
  QuantModel& operator=(QuantModel&&) noexcept;
  ~QuantModel();

  fx::GraphModule& module() { return *module_; }
  const fx::GraphModule& module() const { return *module_; }
  const QConfig& config() const { return config_; }
  const platforms::Platform& platform() const { return *config_.platform; }

  /// Sets the engine for calibration, profiling and evaluation. Default: the Interpreter.
  void set_executor(fx::ExecutorFactory factory) { executors_ = std::move(factory); }
  /// An executor of the graph in its current state. If activations are quantized, it uses the
  /// platform's float kernels.
  std::unique_ptr<fx::Executor> make_executor(fx::RunMode mode) const;

  /// The batch size that the graph requires; 0 if it takes any.
  int64_t fixed_batch() const { return fixed_batch_; }

  /// Runs the model. After prepare_calibration(), the quantizers observe their inputs.
  fx::Value forward(const std::vector<fx::Value>& inputs);

  /// Starts calibration: forward() feeds the observers.
  void prepare_calibration(const PrepareOptions& options = {});
  bool is_calibrating() const { return calibration_ != nullptr; }
  /// Ends calibration and discards its statistics.
  void stop_calibration();
  /// Ends calibration and computes scales from its statistics. Throws InvalidArgument, naming the
  /// quantizer, if calibration was not prepared or no data was seen.
  void calc_qparams(const CalcOptions& options = {});

  struct Enabled {
    bool weights = false;
    bool activations = false;
  };
  /// Throws InvalidArgument, naming the quantizer, if one that is to be enabled is not calibrated.
  void set_quant(const Enabled& enabled);
  /// Starts quantization-aware training: calc_qparams(), all quantizers on, training mode.
  void init_qat();

  /// Re-estimates the statistics of batch norms, which SCHEDULE.BN_TUNING kept, on the quantized
  /// model: while `feed` calls forward() with batches, everything is quantized and the norms
  /// average their statistics over the batches. Then they are folded into the layers before them,
  /// whose weights keep their integers, and quantization is switched off. If `feed` throws, the
  /// model is restored. Returns the norms that were not folded, and why.
  std::vector<Decision> batchnorm_tuning(const std::function<void()>& feed);

  /// Quantizers of activations in graph order, then those of weights and biases.
  const std::vector<QuantPoint>& points() const { return points_; }
  /// Whether no tensor is quantized; floats() has the reasons.
  bool is_float() const;
  /// The quantizer with this node name. Throws InvalidArgument, suggesting similar names.
  Quantizer& quantizer(const std::string& point) const;
  /// The operator with this node name or dotted path. Throws InvalidArgument, suggesting similar
  /// names, if it has no quantizers.
  QuantOpr layer(const std::string& name) const;
  /// The graph with its quantizers as a flow chart, see fx::to_mermaid().
  std::string to_mermaid() const;
  /// Nodes that stay float, and why.
  const std::vector<Decision>& floats() const { return floats_; }
  /// Messages about patterns of the config that match no layer or module.
  const std::vector<std::string>& unused_patterns() const { return unused_patterns_; }

 private:
  friend class SavedModelReader;
  friend class SavedModelWriter;

  QuantModel();

  bool learns_from_samples() const;
  void insert_quantizers(const Placement& placement);
  void insert_activation_quantizers(const std::vector<ActivationPoint>& points);
  fx::Node& insert_activation_quantizer(const ActivationPoint& point, const std::string& path,
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
  std::unique_ptr<Calibration> calibration_;  // null unless calibrating
};

}  // namespace sparsebit::quant
