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

/// What happens between prepare_calibration() and calc_qparams(): samples are shown to a model
/// while observers look at its values.
///
/// Samples are shown one by one, or as many at once as the graph wants, with one thread each: what
/// a library computes depends on both. Several samples are shown at the same time, to observers of
/// their own that are merged at the end, unless one of the model's depends on the order.
class Calibration {
 public:
  /// @param module  must outlive this object.
  Calibration(fx::GraphModule& module, const std::vector<QuantPoint>& points, int64_t fixed_batch,
              const PrepareOptions& options, const fx::ExecutorFactory& executors);

  /// What the model gives for this batch.
  fx::Value show(const std::vector<fx::Value>& batch);

  /// Calibrates every quantizer. Throws InvalidArgument, naming the point, when one saw nothing.
  void finish(const CalcOptions& options);

 private:
  /// A thread's view of the model.
  struct Viewer {
    std::unique_ptr<fx::Executor> executor;
    fx::Taps taps;
    std::vector<std::unique_ptr<Observer>> observers = {};  // of each point
    std::vector<char> saw_other_types = {};                 // than floats, of each point
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
  std::unordered_map<const fx::Node*, size_t> feature_at_;   // the point, by its node
  std::unordered_map<const Quantizer*, size_t> last_point_;  // of those that share it
  int64_t samples_at_once_;                                  // 0: whole batches
  bool keeps_samples_;
  bool writes_inputs_;
  bool depends_on_order_ = false;
  std::vector<Viewer> viewers_;
  ValueStore store_;
  std::vector<std::vector<int64_t>> samples_;  // ids of the inputs of each, when they are kept
};

}  // namespace sparsebit::quant
