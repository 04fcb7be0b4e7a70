#pragma once

#include "quant/quantizers/quantizers_as_before.h"

#include "sparsebit/fx/graph_module.h"
#include "sparsebit/quant/quantizers/quant_point.h"
#include "sparsebit/quant/spec/decision.h"

#include <string>
#include <vector>

namespace sparsebit::quant {

/// While it lives, the batch norms of a quantized model normalize by the batch and gather
/// statistics from nothing, in tensors of their own. Unless fold() ends that, everything is as
/// before afterwards, quantizers switched on and off as well.
class BatchNormTuning {
 public:
  /// @param module  and `points`, its quantizers, must outlive this object.
  BatchNormTuning(fx::GraphModule& module, const std::vector<QuantPoint>& points);
  ~BatchNormTuning();
  BatchNormTuning(const BatchNormTuning&) = delete;
  BatchNormTuning& operator=(const BatchNormTuning&) = delete;

  /// Makes the norms part of the layers before them. Gives those that cannot be, which keep the new
  /// statistics. Throws InvalidArgument when a norm saw no data.
  std::vector<Decision> fold();

 private:
  /// A batch norm as it was.
  struct Norm {
    fx::ModulePtr module;
    bool training;
    fx::Value momentum;
    std::vector<std::pair<std::string, at::Tensor>> statistics;
  };

  void start(const fx::ModulePtr& module);
  void check_data() const;
  void end_gathering();

  fx::GraphModule& module_;
  const std::vector<QuantPoint>& points_;
  std::vector<Norm> norms_;
  QuantizersAsBefore quantizers_;
  bool folded_ = false;
};

}  // namespace sparsebit::quant
