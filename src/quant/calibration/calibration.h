#pragma once

#include "quant/calibration/value_store.h"

#include "sparsebit/fx/executor.h"
#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/calibration/calibration_options.h"
#include "sparsebit/quant/quantizers/quant_point.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace sparsebit::quant {

/// Runs a model on samples between prepare_calibration() and calc_qparams() and feeds its
/// activations to the observers.
///
/// Each run has one sample, or the fixed batch size of the graph, and one thread, because the
/// results of libraries depend on both. Several runs are parallel, with separate observers that are
/// merged at the end, unless an observer depends on the order.
class Calibration {
 public:
  /// @param module  must outlive this object.
  Calibration(fx::GraphModule& module, const std::vector<QuantPoint>& points, int64_t fixed_batch,
              const PrepareOptions& options, const fx::ExecutorFactory& executors);

  /// Runs the model on a batch and returns its output.
  fx::Value show(const std::vector<fx::Value>& batch);

  /// The kept samples: ids of the inputs of each in the store.
  ValueStore& store() { return store_; }
  const std::vector<std::vector<int64_t>>& samples() const { return samples_; }

  /// Calibrates all quantizers. Throws InvalidArgument, naming the quantizer, if one saw no data.
  void finish(const CalcOptions& options);

 private:
  /// The executor and observers of one thread.
  struct Viewer {
    std::unique_ptr<fx::Executor> executor;
    fx::Taps taps;
    std::vector<std::unique_ptr<Observer>> observers = {};  // of each point
    std::vector<char> saw_other_types = {};                 // non-float values seen, of each point
  };

  void add_viewer();
  void look_at(size_t point, const fx::Value& value, Viewer& viewer) const;
  void check_seen(size_t point);
  void calibrate(size_t point);
  int viewers_for(int64_t samples) const;
  void keep(const std::vector<fx::Value>& sample);
  static std::vector<fx::Value> copy_of(const std::vector<fx::Value>& sample);

  fx::GraphModule& module_;
  fx::ExecutorFactory executors_;
  std::vector<QuantPoint> points_;
  std::unordered_map<const fx::Node*, size_t> activation_at_;  // index of the point, by its node
  std::unordered_map<const Quantizer*, size_t> last_point_;    // index of its last point
  int64_t samples_at_once_;                                    // 0: whole batches
  bool keeps_samples_;
  bool writes_inputs_;
  bool depends_on_order_ = false;
  std::vector<Viewer> viewers_;
  ValueStore store_;
  std::vector<std::vector<int64_t>> samples_;  // ids of the inputs of each sample, if kept
};

}  // namespace sparsebit::quant
